// SPDX-License-Identifier: Apache-2.0
// Interruptible: a wait that its thread looks up from, to hear whether it is still wanted.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "stretto/types.h"

namespace stretto {

/// As long as one lives on a thread, that thread's waits for the end of a request to a loop look up
/// every kBetween, and end early once `goes_on` says no; it is not asked again after that. Within
/// `goes_on`, as in the handler of a signal, there may be another one.
class Interruptible {
 public:
  static constexpr Duration kBetween = std::chrono::milliseconds(200);

  explicit Interruptible(std::function<bool()> goes_on)
      : goes_on_(std::move(goes_on)), outer_(current()) {
    current() = this;
  }
  ~Interruptible() { current() = outer_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// True if one lives on this thread.
  static bool is_set() { return current() != nullptr; }
  /// When a wait of this thread looks up next.
  static Time next_look(Time now) { return is_set() ? now + kBetween : Time::max(); }
  static bool goes_on() { return !is_set() || current()->look(); }

 private:
  static const Interruptible*& current() {
    thread_local const Interruptible* here = nullptr;
    return here;
  }
  bool look() const {
    has_ended_ = has_ended_ || !goes_on_();
    return !has_ended_;
  }

  const std::function<bool()> goes_on_;
  const Interruptible* const outer_;
  mutable bool has_ended_ = false;
};

/// Looks of many short waits, at most one every kBetween. Thread: one at a time.
class InterruptionLooks {
 public:
  /// As Interruptible::goes_on(), but true without a look if the latest one was just before.
  bool goes_on() {
    const Time now = std::chrono::steady_clock::now();
    if (now < next_) return true;
    next_ = now + Interruptible::kBetween;
    return Interruptible::goes_on();
  }

 private:
  Time next_ = Time::min();
};

}  // namespace stretto
