// SPDX-License-Identifier: Apache-2.0
// Waker: how other threads make a loop look up from its wait, for as long as there is a transport
// that waits. A lease may end, and a request be posted, while a loop ends.
#pragma once

#include "common/mutex.h"
#include "van/transport.h"

namespace stretto {

/// Thread: any.
class Waker {
 public:
  explicit Waker(Transport& transport) : transport_(&transport) {}
  void wake() {
    MutexLock lock(mutex_);
    if (transport_ != nullptr) transport_->wake();
  }
  /// From now on nothing is woken. The transport may then be destroyed.
  void silence() {
    MutexLock lock(mutex_);
    transport_ = nullptr;
  }

 private:
  Mutex mutex_;
  Transport* transport_ GUARDED_BY(mutex_);
};

}  // namespace stretto
