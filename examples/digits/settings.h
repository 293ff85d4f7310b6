// SPDX-License-Identifier: Apache-2.0
// What the user may choose on the command line, checked.
#pragma once

#include <stretto/parameters.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace digits {

struct Settings {
  std::string data;         ///< Path of the CSV.
  std::string records;      ///< Folder to write record files to and train from; empty: from memory.
  std::size_t magnify = 1;  ///< What becomes of a pixel in the records, in each direction.
  std::size_t epochs = 0;
  std::size_t batch = 0;  ///< Samples of one step, over all workers.
  double rate = 0;        ///< Learning rate of the first step.
  std::size_t hidden = 0;
  std::uint64_t seed = 0;
  stretto::ParameterOptions parameters;  ///< But for the optimizer.
};

/// What --help prints above the flags.
inline constexpr const char* kUsage =
    "usage: digits [FLAG]...\n\nTrains a classifier of handwritten digits, as one worker of a job.";

/// Of the flags as they were read; a value that cannot be used is an error that names its flag.
stretto::Result<Settings> settings_from_flags();

}  // namespace digits
