// SPDX-License-Identifier: Apache-2.0
// Completion: the end of something that a loop does and others wait for. What a worker's tickets
// and RPC calls are made of.
#pragma once

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "common/mutex.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// Ends once, with a Status and a Value. Thread: any. One mutex; callbacks run outside it.
template <typename Value>
class Completion {
 public:
  using Then = std::function<void(const Status&)>;

  /// The end. Callbacks run here, on this thread, which is no concern of their errors: what one
  /// throws is logged. False if it had ended already.
  bool end(const Status& status, Value value) {
    std::vector<Then> callbacks;
    {
      MutexLock lock(mutex_);
      if (done_) return false;
      done_ = true;
      status_ = status;
      value_ = std::move(value);
      callbacks.swap(callbacks_);
      ended_.notify_all();
    }
    for (const Then& callback : callbacks) run(callback, status);
    return true;
  }

  Status wait() {
    MutexLock lock(mutex_);
    while (!done_) ended_.wait(mutex_);
    return status_;
  }

  Status wait_for(Duration limit) {
    const Time deadline = after(std::chrono::steady_clock::now(), limit);
    MutexLock lock(mutex_);
    while (!done_) {
      if (ended_.wait_until(mutex_, deadline) == std::cv_status::timeout && !done_) {
        return {Code::kTimeout, "the operation has not ended yet and goes on"};
      }
    }
    return status_;
  }

  bool done() {
    MutexLock lock(mutex_);
    return done_;
  }

  /// Runs at the end; at once, here, if it has ended.
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

  /// A default one before the end.
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
  Condition ended_;
  bool done_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);
  Value value_ GUARDED_BY(mutex_);
  std::vector<Then> callbacks_ GUARDED_BY(mutex_);
};

}  // namespace stretto
