// SPDX-License-Identifier: Apache-2.0
// UrgencyDetector: whether urgent frames are to be expected, by what was sent recently. Nothing
// tells when the first one comes; but a program that sends one mostly sends others.
#pragma once

#include <optional>

#include "common/windowed_max.h"
#include "van/queue/frame_list.h"

namespace stretto {

/// A frame is urgent if it is more urgent than all background of the last 10 to 20 s. Background is
/// what is declared bulk, what asks for nothing (priority 0 or less, no deadline), and urgent
/// frames where these are too many: more than an eighth of all bytes, and more than 64 MiB.
/// Thread: loop. Pure: told the time, it answers.
class UrgencyDetector {
 public:
  /// `bytes` of a frame leave.
  void note(const Urgency& urgency, bool bulk, std::uint64_t bytes, Time now);
  /// True while the next urgent frame is to be expected: for twice the longest recent gap between
  /// two, at least kLeast. After a gap of more than kLongestGap the next one is not expected.
  bool lasts(Time now) const { return now < until_; }
  bool is_urgent(const Urgency& urgency, bool bulk) const {
    return !bulk && urgency < background();
  }
  /// What a frame must exceed to be urgent; at least what asks for nothing.
  Urgency background() const;
  /// The highest priority of what has been urgent since it lasts.
  std::int32_t priority() const { return priority_; }

  static constexpr Duration kLeast = 1s;
  static constexpr Duration kLongestGap = 10s;

 private:
  // Of the time since since_, and of the same length before that.
  struct Sent {
    std::optional<Urgency> background;  // The most urgent.
    std::uint64_t bytes = 0;
    // Of what is no bulk, and asks for something: what was urgent, and what was not.
    std::uint64_t urgent_bytes = 0;
    std::uint64_t asking_bytes = 0;
  };

  void forget_old(Time now);
  bool are_many(std::uint64_t Sent::* bytes) const;
  void note_urgent(const Urgency& urgency, Time now);

  Sent sent_;
  Sent before_;
  Time since_ = {};
  WindowedMax gaps_{std::chrono::minutes(1)};  // In seconds.
  std::optional<Time> last_;
  Time until_ = {};
  std::int32_t priority_ = 0;
};

}  // namespace stretto
