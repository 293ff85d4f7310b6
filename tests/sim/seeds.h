// SPDX-License-Identifier: Apache-2.0
// Which seeds a test runs: STRETTO_SIM_SEEDS says how many (default 1000, under a sanitizer fewer),
// STRETTO_SIM_FIRST_SEED where to begin.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.h"
#include "tests/common/effort.h"

namespace stretto::sim {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
};

/// Of a test whose seeds take long, `less` is kFarLess.
inline Seeds seeds_from_environment(unsigned less = kLess) {
  Seeds seeds{.count = repeated(1000U, less)};
  const Environment environment = process_environment();
  if (const auto first = environment("STRETTO_SIM_FIRST_SEED")) seeds.first = std::stoull(*first);
  if (const auto count = environment("STRETTO_SIM_SEEDS")) seeds.count = std::stoull(*count);
  return seeds;
}

}  // namespace stretto::sim
