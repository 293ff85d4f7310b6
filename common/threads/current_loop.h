// SPDX-License-Identifier: Apache-2.0
// CurrentLoop: which loop the calling thread drives. Different threads drive a loop one after
// another, so objects identify their owner by the loop and not by a thread.
#pragma once

namespace stretto {

/// Marks the calling thread as driving `loop`, an address that is unique to the loop, for this
/// object's lifetime. A thread drives one loop at a time. Thread: any.
class CurrentLoop {
 public:
  explicit CurrentLoop(const void* loop) { current() = loop; }
  ~CurrentLoop() { current() = nullptr; }
  CurrentLoop(const CurrentLoop&) = delete;
  CurrentLoop& operator=(const CurrentLoop&) = delete;

  /// Null: this thread drives no loop, or a loop that no other thread ever drives.
  static const void* here() { return current(); }
  /// The loop that this thread drives, else this_thread().
  static const void* or_thread() { return here() != nullptr ? here() : this_thread(); }
  /// An address that is unique to this thread.
  static const void* this_thread() { return &current(); }

 private:
  static const void*& current() {
    thread_local const void* loop = nullptr;
    return loop;
  }
};

}  // namespace stretto
