// SPDX-License-Identifier: Apache-2.0
// From samples that are wanted to reads: neighbours in a file are read together, as far as the read
// size goes. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "input/formats/index.h"

namespace stretto::input {

/// One contiguous range of a file, and which of the wanted samples lie in it.
struct ReadRun {
  std::uint32_t file = 0;
  Extent extent;
  std::vector<std::uint64_t> wanted;  ///< Ascending in the file.
};

/// Runs that hold each of the samples once, in the order of the first sample in them that is
/// needed; samples are named `first` and so on. A run is longer than `read_bytes` only if a sample
/// is.
std::vector<ReadRun> plan_runs(std::span<const Place> samples, std::uint64_t first,
                               std::uint64_t read_bytes);

}  // namespace stretto::input
