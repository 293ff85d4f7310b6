// SPDX-License-Identifier: Apache-2.0
// Completion: the result of an operation that a loop executes and other threads wait for. Worker
// tickets and RPC calls are based on it.
#pragma once

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/threads/waitable.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// Completes once, with a Status and a Value. Thread: any. One mutex; callbacks run outside it.
template <typename Value>
class Completion final : public Awaited {
 public:
  using Then = std::function<void(const Status&)>;

  /// Completes the operation, runs its callbacks on this thread and logs what they throw. False if
  /// the operation was already complete.
  bool end(const Status& status, Value value) {
    std::vector<Then> callbacks;
    {
      MutexLock lock(mutex_);
      if (done_) return false;
      done_ = true;
      status_ = status;
      value_ = std::move(value);
      callbacks.swap(callbacks_);
      for (Parker* const parker : watching_) parker->unpark();
    }
    for (const Then& callback : callbacks) run(callback, status);
    return true;
  }

  Status wait() { return wait_for(Duration::max()); }

  Status wait_for(Duration limit) {
    park_until_done(*this, after(std::chrono::steady_clock::now(), limit));
    return status();
  }

  /// The outcome; kTimeout before completion.
  Status status() {
    MutexLock lock(mutex_);
    if (done_) return status_;
    return {Code::kTimeout, "the operation has not ended yet and goes on"};
  }

  bool done() override {
    MutexLock lock(mutex_);
    return done_;
  }

  bool watch(Parker& parker) override {
    MutexLock lock(mutex_);
    if (!done_) watching_.push_back(&parker);
    return !done_;
  }
  void unwatch(Parker& parker) override {
    MutexLock lock(mutex_);
    std::erase(watching_, &parker);
  }

  /// Calls `then` at completion; immediately, on this thread, if already complete.
  void on_done(Then then) {
    Status outcome;
    {
      MutexLock lock(mutex_);
      if (!done_) {
        callbacks_.push_back(std::move(then));
        return;
      }
      outcome = status_;
    }
    then(outcome);
  }

  /// Default-constructed before completion.
  Value value() {
    MutexLock lock(mutex_);
    return value_;
  }

 private:
  static void run(const Then& callback, const Status& status) {
    try {
      callback(status);
    } catch (const std::exception& thrown) {
      log(Level::kError, "a callback of on_done threw: {}", thrown.what());
    } catch (...) {
      log(Level::kError, "a callback of on_done threw what is no std::exception");
    }
  }

  Mutex mutex_;
  std::vector<Parker*> watching_ GUARDED_BY(mutex_);
  bool done_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
  Value value_ GUARDED_BY(mutex_);
  std::vector<Then> callbacks_ GUARDED_BY(mutex_);
};

}  // namespace stretto
