// SPDX-License-Identifier: Apache-2.0
// The seeds that a test runs: STRETTO_SIM_SEEDS is their number (default 1000, fewer under a
// sanitizer), STRETTO_SIM_FIRST_SEED the first one.
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

/// Tests whose seeds take long pass kFarLess.
inline Seeds seeds_from_environment(unsigned less = kLess) {
  Seeds seeds{.count = repeated(1000U, less)};
  const Environment environment = process_environment();
  if (const auto first = environment("STRETTO_SIM_FIRST_SEED")) seeds.first = std::stoull(*first);
  if (const auto count = environment("STRETTO_SIM_SEEDS")) seeds.count = std::stoull(*count);
  return seeds;
}

}  // namespace stretto::sim
