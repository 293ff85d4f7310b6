// SPDX-License-Identifier: Apache-2.0
// Search: which point of the grid to measure next, and which to keep. A hill climb goes along
// depth, read size and, at the memory limit, along both in opposite directions. Steps double while
// they gain, and are halved between a better and a worse point. Then a descent finds the knee: the
// fewest bytes in flight that are nearly as fast.
//
// Steps that cannot gain are skipped: (1) beyond a step that gained nothing, since rates have one
// hill; (2) more depth, if it gained nothing at a smaller read size, and larger reads, if they
// gained nothing at a smaller depth: a saturated device stays saturated; (3) back, unless forward
// was worse; (4) more depth, if by Little's law the present depth is not even used.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "input/tuning/measurements.h"

namespace stretto::input {

/// A point to measure, and the reason.
struct Proposal {
  Point point;
  Step step;
  int stride = 0;
  std::string reason;
};

/// Pure. Thread: one at a time.
class Search {
 public:
  /// Grid and measurements outlive this.
  Search(const Grid& grid, const Measurements& evidence) : grid_(grid), evidence_(evidence) {}

  /// Starts from a measured point.
  void start(Point point) { best_ = point; }
  /// The most bytes in flight that the memory permits, in the largest reads: fast on most devices,
  /// but more than needed. None if already measured.
  std::optional<Proposal> leap() const;
  /// The next step up the hill; nothing if there is none that could gain.
  std::optional<Proposal> climb() const;
  /// Evaluates a proposal of climb() that has been measured.
  Verdict tell(const Proposal& proposal);
  /// Of the points that climb() could not distinguish, makes the most certainly fast point the
  /// best; true if the best changed. Else a lucky measurement would stay the best for ever.
  bool reconsider();
  /// The fastest point so far.
  Point best() const { return best_; }
  /// Of the measured points that are nearly as fast as the best point, the point with the fewest
  /// bytes in flight.
  Point knee() const;
  /// A smaller point that may be nearly as fast; nothing if there is none.
  std::optional<Proposal> shrink() const;

 private:
  struct Seen {  // The nearest measured point on a ray from the best one.
    int distance = 0;
    Verdict verdict = Verdict::kAlike;
  };

  std::optional<Proposal> along(Step step) const;
  std::optional<Seen> nearest_seen(Step step) const;
  bool is_blocked(Step step) const;
  bool is_blocked_by_memory(Step step) const;
  bool turns_back(Step step) const;
  int room_before_loss(Step step) const;
  int reach(Step step) const;
  bool is_nearly_as_fast(const Estimate& estimate) const;
  bool cannot_be_as_fast(Point point) const;
  std::string describe(Step step, int stride) const;

  const Grid& grid_;
  const Measurements& evidence_;
  Point best_;
  Step last_gain_;
  int next_stride_ = 0;
};

}  // namespace stretto::input
