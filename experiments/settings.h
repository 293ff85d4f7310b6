// SPDX-License-Identifier: Apache-2.0
// Settings of an experiment: the command line, parsed and checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "experiments/io/io_settings.h"
#include "experiments/replay/replay_settings.h"
#include "stretto/status.h"

namespace stretto::bench::experiments {

enum class Experiment : std::uint8_t { kReplay, kIo };

/// The experiment of that name.
Result<Experiment> find_experiment(std::string_view name);

struct Settings {
  Experiment experiment = Experiment::kReplay;
  bool help = false;
  bool json = false;
  ReplaySettings replay;
  IoSettings io;
};

/// `words` follow the experiment's name.
Result<Settings> read_settings(Experiment experiment, std::span<const std::string> words);

/// The output of --help.
std::string help_text();

}  // namespace stretto::bench::experiments
