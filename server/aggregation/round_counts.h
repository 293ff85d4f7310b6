// SPDX-License-Identifier: Apache-2.0
// RoundCounts: the number of rounds of each worker, with the minimum and maximum kept up to date. A
// full scan is needed only when the last worker leaves the minimum, at most once per round of the
// slowest worker. So the amortised cost of a contribution does not depend on the number of workers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/index_set.h"

namespace stretto {

/// Thread: loop.
class RoundCounts {
 public:
  explicit RoundCounts(std::uint32_t workers);
  /// Starts with these rounds; no worker has left.
  explicit RoundCounts(std::vector<std::uint64_t> rounds);

  void advance(std::uint32_t index);
  /// Removes the worker from the minimum. Idempotent.
  void leave(std::uint32_t index);

  std::uint32_t workers() const { return static_cast<std::uint32_t>(rounds_.size()); }
  std::uint64_t of(std::uint32_t index) const { return rounds_[index]; }
  const IndexSet& left() const { return left_; }
  /// Of workers that have not left; if all have, the maximum.
  std::uint64_t least() const { return at_least_ == 0 ? most_ : least_; }
  std::uint64_t most() const { return most_; }

 private:
  void look_at_all();

  std::vector<std::uint64_t> rounds_;
  IndexSet left_;
  std::uint64_t least_ = 0;     // Of staying workers,
  std::uint32_t at_least_ = 0;  // and how many of them are at it; 0 if none stays.
  std::uint64_t most_ = 0;
};

}  // namespace stretto
