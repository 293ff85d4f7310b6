// SPDX-License-Identifier: Apache-2.0
// RecentUrgency: whether something urgent is to be expected, by what was sent of late. Nobody can
// tell when the first one comes; but who sends one mostly sends others.
#pragma once

#include <optional>

#include "van/lane.h"
#include "van/path.h"

namespace stretto {

/// Urgent is what is no bulk, and more urgent than all bulk of late; where there was none, than
/// what asks for nothing. Gradients have priorities among themselves, and are not urgent for that:
/// bulk says that it may wait. Thread: loop. Pure: told the time, it answers.
class RecentUrgency {
 public:
  // A slice of such a frame leaves.
  void note_bulk(const Urgency& urgency, Time now);
  void note_other(const Urgency& urgency, Time now);
  /// True while the next urgent one is to be expected: for twice the longest gap of late between
  /// two, at least kLeast. After a gap of more than kLongestGap the next one is not expected.
  bool lasts(Time now) const { return now < until_; }
  /// The highest of what has been urgent since it lasts.
  std::int32_t priority() const { return priority_; }

  static constexpr Duration kLeast = 1s;
  static constexpr Duration kLongestGap = 10s;

 private:
  void forget_old_bulk(Time now);
  bool is_urgent(const Urgency& urgency) const;

  // The most urgent bulk since bulk_since_, and in the time of the same length before that.
  std::optional<Urgency> bulk_;
  std::optional<Urgency> bulk_before_;
  Time bulk_since_ = {};
  Greatest gaps_{std::chrono::minutes(1)};  // In seconds.
  std::optional<Time> last_;
  Time until_ = {};
  std::int32_t priority_ = 0;
};

}  // namespace stretto
