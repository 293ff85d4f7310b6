// SPDX-License-Identifier: Apache-2.0
// LoopOwner: the assert that an object of the loop is only called on its loop's thread.
#pragma once

#include <thread>

#include "common/check.h"

namespace stretto {

/// Thread: loop. Owned by no thread until the first check(), and by that one from then on: who
/// makes an object may be another thread than its loop.
class LoopOwner {
 public:
  void check() {
    if (over_) return;
    const std::thread::id here = std::this_thread::get_id();
    if (owner_ == std::thread::id()) owner_ = here;
    STRETTO_CHECK(owner_ == here);
  }
  /// The same, but nobody owns it yet: who makes an object may use it before its loop begins.
  void check_if_owned() const {
    STRETTO_CHECK(over_ || owner_ == std::thread::id() || owner_ == std::this_thread::get_id());
  }
  /// The loop is over: any thread may call the object now, one at a time.
  void end() { over_ = true; }

 private:
  std::thread::id owner_;
  bool over_ = false;
};

}  // namespace stretto
