// SPDX-License-Identifier: Apache-2.0
// How stale received values were, counted by powers of two, for metrics.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stretto {

/// Thread: loop.
struct StalenessCounts {
  std::array<std::uint64_t, 12> by_power{};  ///< 0, 1, 2 to 3, 4 to 7, and so on.
  std::uint64_t sum = 0;
  std::uint64_t count = 0;

  void add(std::uint64_t staleness) {
    const auto power = static_cast<std::size_t>(std::bit_width(staleness));
    ++by_power[power < by_power.size() ? power : by_power.size() - 1];
    sum += staleness;
    ++count;
  }
  /// Upper bounds, and the number of values up to each; the last bound is infinite.
  std::vector<std::pair<double, std::uint64_t>> buckets() const {
    std::vector<std::pair<double, std::uint64_t>> made;
    std::uint64_t so_far = 0;
    for (std::size_t power = 0; power < by_power.size(); ++power) {
      so_far += by_power[power];
      const bool last = power + 1 == by_power.size();
      made.emplace_back(last ? std::numeric_limits<double>::infinity()
                             : static_cast<double>((std::uint64_t{1} << power) - 1),
                        so_far);
    }
    return made;
  }
};

}  // namespace stretto
