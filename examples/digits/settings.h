// SPDX-License-Identifier: Apache-2.0
// The checked settings from the command line.
#pragma once

#include <stretto/parameters.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace digits {

struct Settings {
  std::string data;         ///< Path of the CSV.
  std::string records;      ///< Folder to write record files to and train from; empty: from memory.
  std::size_t magnify = 1;  ///< Pixels in the records per pixel, in each direction.
  std::size_t epochs = 0;
  std::size_t batch = 0;  ///< Samples of one step, over all workers.
  double rate = 0;        ///< Learning rate of the first step.
  std::size_t hidden = 0;
  std::uint64_t seed = 0;
  stretto::ParameterOptions parameters;  ///< All except the optimizer.
};

/// What --help prints above the flags.
inline constexpr const char* kUsage =
    "usage: digits [FLAG]...\n\nTrains a classifier of handwritten digits, as one worker of a job.";

/// The settings from the parsed flags. An error names the flag of an invalid value.
stretto::Result<Settings> settings_from_flags();

}  // namespace digits
