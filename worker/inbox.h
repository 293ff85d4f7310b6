// SPDX-License-Identifier: Apache-2.0
// Inbox: how user threads reach the loop. The only queue between threads in a worker.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/mutex.h"

namespace stretto {

class WorkerNode;

/// Thread: any. One mutex; nothing runs under it.
class Inbox {
 public:
  using Request = std::function<void(WorkerNode&)>;

  enum class Posted {
    kFirst,   ///< The inbox was empty: wake the loop.
    kMore,    ///< The loop will find it together with what was there.
    kClosed,  ///< The loop has ended; the request was not taken.
  };
  Posted post(Request& request) {
    MutexLock lock(mutex_);
    if (closed_) return Posted::kClosed;
    requests_.push_back(std::move(request));
    return requests_.size() == 1 ? Posted::kFirst : Posted::kMore;
  }

  /// Everything that was posted, in order.
  std::vector<Request> take() {
    MutexLock lock(mutex_);
    return std::exchange(requests_, {});
  }

  /// Takes nothing more; returns what was still there.
  std::vector<Request> close() {
    MutexLock lock(mutex_);
    closed_ = true;
    return std::exchange(requests_, {});
  }

 private:
  Mutex mutex_;
  std::vector<Request> requests_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace stretto
