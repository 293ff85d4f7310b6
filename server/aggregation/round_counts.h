// SPDX-License-Identifier: Apache-2.0
// RoundCounts: how many rounds each worker of a list has made, with the least and the most kept as
// they change. Everybody is looked at only when the last one leaves the least, which is not more
// often than the slowest makes rounds, and everybody has made as many: over a job a share costs the
// same for two workers and for a thousand.
#pragma once

#include <cstdint>
#include <vector>

#include "core/index_set.h"

namespace stretto {

/// Thread: loop.
class RoundCounts {
 public:
  explicit RoundCounts(std::uint32_t workers);
  /// With rounds that they have made already; nobody has left.
  explicit RoundCounts(std::vector<std::uint64_t> rounds);

  void advance(std::uint32_t index);
  /// From now on the worker does not count for the least. Twice is as once.
  void leave(std::uint32_t index);

  std::uint32_t workers() const { return static_cast<std::uint32_t>(rounds_.size()); }
  std::uint64_t of(std::uint32_t index) const { return rounds_[index]; }
  const IndexSet& left() const { return left_; }
  /// Of those who have not left; if all have, the most.
  std::uint64_t least() const { return at_least_ == 0 ? most_ : least_; }
  std::uint64_t most() const { return most_; }

 private:
  void look_at_all();

  std::vector<std::uint64_t> rounds_;
  IndexSet left_;
  std::uint64_t least_ = 0;     // Of those who stay, and
  std::uint32_t at_least_ = 0;  // how many of them are there: none if nobody stays.
  std::uint64_t most_ = 0;
};

}  // namespace stretto
