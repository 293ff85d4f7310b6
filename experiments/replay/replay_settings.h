// SPDX-License-Identifier: Apache-2.0
// What the command line of `replay` asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/replay/replay_schemes.h"
#include "tools/bench/support/flags.h"

namespace stretto::bench::experiments {

struct ReplaySettings {
  std::string model = "resnet50";
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::uint32_t repeats = 2;
  std::uint64_t rate_mbit = 10'000;  ///< Of the link that is reproduced.
  std::uint64_t lab_mbit = 400;      ///< Of the lab's links, in each direction.
  std::uint32_t scale = 16;          ///< One in so many of the model's bytes travels.
  std::vector<Scheme> schemes{all_schemes().begin(), all_schemes().end()};
  std::uint32_t late_layers = 100'000;    ///< Of the first, in scheme delayed.
  std::string order;                      ///< Instead of the schemes' own; empty: theirs.
  std::uint64_t slice_bytes = 1'000'000;  ///< Of the model's bytes, so before scaling.
  double delay_s = 0;                     ///< Of the lab's, one way between two hosts.
  double compute_s = 0;                   ///< Of an iteration, before scaling; 0: the model's.
  std::uint32_t iterations = 30;          ///< Measured, of each scheme.
  std::uint32_t warm_up = 5;              ///< Before those, in every round.
  std::uint64_t seed = 1;                 ///< Of random orders.
};

std::vector<Flag> replay_flags(ReplaySettings& settings);
/// What no flag can tell alone.
Status check_replay(const ReplaySettings& settings);

}  // namespace stretto::bench::experiments
