// SPDX-License-Identifier: Apache-2.0
// Latencies of a window, counted in bins of an eighth of a power of two: a percentile in constant
// memory, at most 13 % too high.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "stretto/types.h"

namespace stretto::input {

/// Thread: loop.
class Latencies {
 public:
  void add(Duration latency) {
    const std::uint64_t value =
        latency.count() < 1 ? 1 : static_cast<std::uint64_t>(latency.count());
    ++counts_[step_of(value)];
    ++count_;
    sum_ += value;
  }
  std::uint64_t count() const { return count_; }
  Duration mean() const { return Duration(count_ == 0 ? 0 : sum_ / count_); }
  /// The upper end of the first bin that covers `share` of all latencies.
  Duration percentile(double share) const {
    const double wanted = share * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t step = 0; step < counts_.size(); ++step) {
      seen += counts_[step];
      if (count_ != 0 && static_cast<double>(seen) >= wanted) return Duration(end_of(step));
    }
    return Duration(0);
  }

 private:
  static constexpr int kParts = 3;  // Bits of a bin within a power of two.

  static std::size_t step_of(std::uint64_t value) {
    const int power = static_cast<int>(std::bit_width(value)) - 1;
    const std::uint64_t part =
        power < kParts ? value << (kParts - power) : value >> (power - kParts);
    return (static_cast<std::size_t>(power) << kParts) + (part & ((1U << kParts) - 1));
  }
  static std::int64_t end_of(std::size_t step) {
    const double power =
        static_cast<double>(std::uint64_t{1} << std::min<std::size_t>(step >> kParts, 62));
    return static_cast<std::int64_t>(
        power * (1 + static_cast<double>((step & ((1U << kParts) - 1)) + 1) / (1U << kParts)));
  }

  std::array<std::uint64_t, 64 << kParts> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace stretto::input
