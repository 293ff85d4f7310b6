// SPDX-License-Identifier: Apache-2.0
// Interruptible: lets a blocking wait check periodically whether to continue.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "stretto/types.h"

namespace stretto {

/// While an instance exists on a thread, that thread's waits for a loop call `goes_on` every
/// kBetween. A wait ends early once `goes_on` returns false; it is not called again after that.
/// `goes_on` may itself create an instance, as the handler of a signal may.
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

  /// True if an instance exists on this thread.
  static bool is_set() { return current() != nullptr; }
  /// Time of this thread's next check during a wait.
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

/// Checks for many short waits, at most one every kBetween. Thread: one at a time.
class InterruptionLooks {
 public:
  /// As Interruptible::goes_on(), but true without a check if the last one was within kBetween.
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
