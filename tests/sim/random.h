// SPDX-License-Identifier: Apache-2.0
// Random: what a seed decides.
#pragma once

#include <cstdint>
#include <random>

#include "stretto/types.h"

namespace stretto::sim {

/// Numbers from a seed, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// 0 to n - 1.
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : engine_() % n; }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  Duration between(Duration least, Duration most) {
    const auto range = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Duration(static_cast<std::int64_t>(below(range)));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace stretto::sim
