// SPDX-License-Identifier: Apache-2.0
// What the user may choose on the command line, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/status.h"

namespace digits {

/// Where the gradients become new parameters.
enum class Update : std::uint8_t {
  kWorker,  ///< At each worker; the servers only average the gradients.
  kServer,  ///< At the servers, which keep the parameters; the workers get them back.
};

struct Settings {
  std::string data;  ///< Path of the CSV.
  std::size_t epochs = 0;
  std::size_t batch = 0;  ///< Samples of one step, over all workers.
  double rate = 0;        ///< Learning rate of the first step.
  std::size_t hidden = 0;
  std::uint64_t seed = 0;
  Update update = Update::kWorker;
  bool deterministic = false;
};

/// Takes the flags off the command line. For main, once: a flag that is unknown or no number ends
/// the process; a value that cannot be used is an error that names its flag.
stretto::Result<Settings> settings_from_flags(int* argc, char*** argv);

}  // namespace digits
