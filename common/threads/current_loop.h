// SPDX-License-Identifier: Apache-2.0
// CurrentLoop: which loop the calling thread drives. Loops are driven by one thread after another:
// what belongs to a loop is known by the loop, not by a thread.
#pragma once

namespace stretto {

/// Drives `loop` as long as it lives: any address that is the loop's own. A thread drives one loop
/// at a time. Thread: any.
class CurrentLoop {
 public:
  explicit CurrentLoop(const void* loop) { current() = loop; }
  ~CurrentLoop() { current() = nullptr; }
  CurrentLoop(const CurrentLoop&) = delete;
  CurrentLoop& operator=(const CurrentLoop&) = delete;

  /// Null: this thread drives none, or one that no other thread ever does.
  static const void* here() { return current(); }
  /// The loop that is driven here, or else this thread itself.
  static const void* or_thread() { return here() != nullptr ? here() : this_thread(); }
  /// Another for each thread that there is.
  static const void* this_thread() { return &current(); }

 private:
  static const void*& current() {
    thread_local const void* loop = nullptr;
    return loop;
  }
};

}  // namespace stretto
