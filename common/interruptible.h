// SPDX-License-Identifier: Apache-2.0
// Interruptible: a wait that its thread looks up from, to hear whether it is still wanted.
#pragma once

#include <functional>
#include <utility>

#include "stretto/types.h"

namespace stretto {

/// As long as one lives on a thread, that thread's waits for the end of a request to a loop look up
/// every kBetween, and end early once `goes_on` says no. One a thread at a time.
class Interruptible {
 public:
  static constexpr Duration kBetween = std::chrono::milliseconds(200);

  explicit Interruptible(std::function<bool()> goes_on) : goes_on_(std::move(goes_on)) {
    current() = this;
  }
  ~Interruptible() { current() = nullptr; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// When a wait of this thread looks up next.
  static Time next_look(Time now) { return current() == nullptr ? Time::max() : now + kBetween; }
  static bool goes_on() { return current() == nullptr || current()->goes_on_(); }

 private:
  static const Interruptible*& current() {
    thread_local const Interruptible* here = nullptr;
    return here;
  }

  const std::function<bool()> goes_on_;
};

}  // namespace stretto
