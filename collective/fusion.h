// SPDX-License-Identifier: Apache-2.0
// Fusion: which gradients travel together, where each exchange takes a time of its own besides that
// of its bytes. The idea is Caramel's adaptive batching (Hashemi et al., 2020), whose code is not
// published; here it is solved exactly, for exchanges that follow one another. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace stretto::collective {

/// A gradient of an iteration; times are seconds from one begin.
struct Gradient {
  std::uint64_t bytes = 0;
  double ready_s = 0;  ///< When it is there.
  /// When its sum is wanted, if by itself; else it is wanted with all others, after the last.
  double due_s = std::numeric_limits<double>::infinity();
};

/// What exchanges take that follow one another.
struct ExchangeCost {
  double start_s = 0;           ///< Of one, without bytes: its hops and its frames.
  double bytes_per_second = 0;  ///< Of the gradients, above 0.
};

/// Of gradients in the order in which they come: how many travel together, group by group. Of all
/// such groupings that by which the sum that is latest, beside when it is due, is least late; and
/// of these one that ends first, by the smaller groups. Groups hold at most `most_bytes`, but for a
/// gradient that is larger by itself. Takes a time in proportion to the square of their number:
/// 0.3 ms for 364, and 13 ms where they are due at times of their own.
std::vector<std::size_t> fuse(std::span<const Gradient> gradients, const ExchangeCost& cost,
                              std::uint64_t most_bytes);

/// By bytes alone, as programs do that know no times: groups are filled up to the limit.
std::vector<std::size_t> fuse_by_bytes(std::span<const Gradient> gradients,
                                       std::uint64_t most_bytes);

/// What becomes of a grouping, one exchange after the other.
struct Exchanged {
  double end_s = 0;  ///< Of the last.
  double late_s =
      -std::numeric_limits<double>::infinity();  ///< The most that one is after its due.
};
Exchanged exchanged(std::span<const Gradient> gradients, std::span<const std::size_t> groups,
                    const ExchangeCost& cost);

}  // namespace stretto::collective
