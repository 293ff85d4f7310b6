// SPDX-License-Identifier: Apache-2.0
// The checked settings from the command line.
#pragma once

#include <stretto/parameters.h>

#include <cstdint>
#include <string>

namespace converge {

struct Settings {
  std::string task;
  std::string data;  ///< Path of the digits.
  std::string mode_name;
  std::string rule_name;
  stretto::ParameterOptions options;  ///< All except the optimizer's rate.
  double rate = 0;                    ///< Learning rate of one gradient.
  std::uint64_t gradients = 0;        ///< Total over all workers.
  std::uint32_t batch = 0;            ///< Samples of one gradient.
  double step_ms = 0;
  double jitter = 0;
  double slow = 1;  ///< Factor by which the last worker is slower.
  std::uint64_t seed = 0;
  std::uint32_t every = 1;  ///< Steps of worker 0 between snapshots.
  double target = 0;
};

/// What --help prints above the flags.
inline constexpr const char* kUsage =
    "usage: stretto-converge [FLAG]...\n\nTrains a small model, as one worker of a job, and tells "
    "how it went.";

/// The settings from the parsed flags. An error names the flag of an invalid value.
stretto::Result<Settings> settings_from_flags();

}  // namespace converge
