// SPDX-License-Identifier: Apache-2.0
// UrgencyDetector: whether to expect urgent frames, from what was sent recently. The first urgent
// frame comes unexpected; but a program that sends one usually sends more.
#pragma once

#include <optional>

#include "common/windowed_max.h"
#include "van/queue/frame_list.h"

namespace stretto {

/// A frame is urgent if it is more urgent than all background of the last 10 to 20 s. Background:
/// bulk, frames without urgency (priority 0 or less, no deadline), and urgent frames in excess of
/// an eighth of all bytes and of 64 MiB. Thread: loop. Pure: it gets times as arguments.
class UrgencyDetector {
 public:
  /// `bytes` of a frame leave.
  void note(const Urgency& urgency, bool bulk, std::uint64_t bytes, Time now);
  /// True while the next urgent frame is expected: for twice the longest recent gap between two, at
  /// least kLeast. After a gap above kLongestGap the next one is not expected.
  bool lasts(Time now) const { return now < until_; }
  bool is_urgent(const Urgency& urgency, bool bulk) const {
    return !bulk && urgency < background();
  }
  /// Urgent frames must exceed this; at least that of frames without urgency.
  Urgency background() const;
  /// The highest priority of urgent frames in the current period.
  std::int32_t priority() const { return priority_; }

  static constexpr Duration kLeast = 1s;
  static constexpr Duration kLongestGap = 10s;

 private:
  // Statistics of the interval from since_, and of one interval before.
  struct Sent {
    std::optional<Urgency> background;  // The most urgent background.
    std::uint64_t bytes = 0;
    // Of frames with urgency that are not bulk: urgent bytes, and other bytes.
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
