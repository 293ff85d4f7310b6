// SPDX-License-Identifier: Apache-2.0
// Inbox: how user threads reach the loop that owns a node. The only queue between the threads of a
// worker, and of an RPC endpoint.
#pragma once

#include <utility>
#include <vector>

#include "common/mutex.h"

namespace stretto {

/// A Request is something that the node is to do. Thread: any. One mutex; nothing runs under it.
template <typename Request>
class Inbox {
 public:
  enum class Posted {
    kFirst,   ///< The loop found nothing when it looked last, and may wait: wake it.
    kMore,    ///< The loop looks again before it waits.
    kClosed,  ///< The loop has ended; the request was not taken.
  };
  Posted post(Request& request) {
    MutexLock lock(mutex_);
    if (closed_) return Posted::kClosed;
    requests_.push_back(std::move(request));
    return std::exchange(awaited_, false) ? Posted::kFirst : Posted::kMore;
  }

  /// Everything that was posted, in order. The loop may wait only after it has found nothing.
  std::vector<Request> take() {
    MutexLock lock(mutex_);
    awaited_ = requests_.empty();
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
  bool awaited_ GUARDED_BY(mutex_) = false;  // The loop has found nothing, and may wait.
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace stretto
