// SPDX-License-Identifier: Apache-2.0
// LoopOwner: asserts that an object of a loop is only called by that loop's thread.
#pragma once

#include "common/check.h"
#include "common/threads/current_loop.h"

namespace stretto {

/// Thread: loop. The first check() sets the owner: the loop that the thread runs, or the thread
/// itself if it runs none. Another thread may construct the object.
class LoopOwner {
 public:
  void check() {
    if (over_) return;
    const void* const here = CurrentLoop::or_thread();
    if (owner_ == nullptr) owner_ = here;
    STRETTO_CHECK(owner_ == here);
  }
  /// The same, but passes without an owner: the constructing thread may use the object before.
  void check_if_owned() const {
    STRETTO_CHECK(over_ || owner_ == nullptr || owner_ == CurrentLoop::or_thread());
  }
  /// The loop is over: any thread may now call the object, one at a time.
  void end() { over_ = true; }

 private:
  const void* owner_ = nullptr;
  bool over_ = false;
};

}  // namespace stretto
