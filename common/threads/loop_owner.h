// SPDX-License-Identifier: Apache-2.0
// LoopOwner: the assert that an object of the loop is only called where its loop is driven.
#pragma once

#include "common/check.h"
#include "common/threads/current_loop.h"

namespace stretto {

/// Thread: loop. Owned by nobody until the first check(), and by the loop that is driven there from
/// then on, or by that thread if it drives none: who makes an object may be another thread.
class LoopOwner {
 public:
  void check() {
    if (over_) return;
    const void* const here = CurrentLoop::or_thread();
    if (owner_ == nullptr) owner_ = here;
    STRETTO_CHECK(owner_ == here);
  }
  /// The same, but nobody owns it yet: who makes an object may use it before its loop begins.
  void check_if_owned() const {
    STRETTO_CHECK(over_ || owner_ == nullptr || owner_ == CurrentLoop::or_thread());
  }
  /// The loop is over: any thread may call the object now, one at a time.
  void end() { over_ = true; }

 private:
  const void* owner_ = nullptr;
  bool over_ = false;
};

}  // namespace stretto
