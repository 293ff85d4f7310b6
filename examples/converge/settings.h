// SPDX-License-Identifier: Apache-2.0
// What the user may choose on the command line, checked.
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
  stretto::ParameterOptions options;  ///< All but the optimizer's rate.
  double rate = 0;                    ///< What one gradient weighs.
  std::uint64_t gradients = 0;        ///< Of all workers together.
  std::uint32_t batch = 0;            ///< Samples of one gradient.
  double step_ms = 0;
  double jitter = 0;
  double slow = 1;  ///< Of the last worker.
  std::uint64_t seed = 0;
  std::uint32_t every = 1;  ///< Steps of worker 0 between snapshots.
  double target = 0;
};

/// Takes the flags off the command line. For main, once: a flag that is unknown or no number ends
/// the process; a value that cannot be used is an error that names its flag.
stretto::Result<Settings> settings_from_flags(int* argc, char*** argv);

}  // namespace converge
