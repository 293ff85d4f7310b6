// SPDX-License-Identifier: Apache-2.0
// The command line of `io`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/io/io_device.h"
#include "tools/bench/support/flags.h"

namespace stretto::bench::experiments {

enum class Pattern : std::uint8_t { kSequential, kRandom, kFiles };

struct IoSettings {
  bool real = false;
  std::string path;  ///< The real device: a file, or a folder of files.
  Pattern pattern = Pattern::kSequential;
  std::vector<DeviceModel> kinds;  ///< Modelled devices; empty: all.
  std::uint32_t seeds = 100;
  std::uint32_t repeats = 1;
  double seconds = 0.25;  ///< The length of a window on the real device.
};

std::vector<Flag> io_flags(IoSettings& settings);
/// The checks across several flags.
Status check_io(const IoSettings& settings);
std::string_view name_of(Pattern pattern);

}  // namespace stretto::bench::experiments
