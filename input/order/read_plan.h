// SPDX-License-Identifier: Apache-2.0
// Plans the reads for wanted samples: adjacent samples of a file share a read, up to the read size.
// Pure.
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

/// Runs that contain each sample once, in the order in which their first samples are needed.
/// Samples are numbered from `first` on. A run exceeds `read_bytes` only for a larger sample.
std::vector<ReadRun> plan_runs(std::span<const Place> samples, std::uint64_t first,
                               std::uint64_t read_bytes);

}  // namespace stretto::input
