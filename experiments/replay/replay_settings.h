// SPDX-License-Identifier: Apache-2.0
// The command line of `replay`.
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
  std::uint64_t rate_mbit = 10'000;  ///< The link that is reproduced.
  std::uint64_t lab_mbit = 400;      ///< The lab's links, in each direction.
  std::uint32_t scale = 16;          ///< One of `scale` elements is sent.
  std::vector<Scheme> schemes{all_schemes().begin(), all_schemes().end()};
  std::uint32_t late_layers = 100'000;    ///< The first layers, in scheme delayed.
  std::string order;                      ///< Overrides the schemes' orders unless empty.
  std::uint64_t slice_bytes = 1'000'000;  ///< Of the model's bytes, before scaling.
  double delay_s = 0;                     ///< In the lab, one way between two hosts.
  double compute_s = 0;                   ///< Of an iteration, before scaling; 0: the model's.
  std::uint32_t iterations = 30;          ///< Measured, for each scheme.
  std::uint32_t warm_up = 5;              ///< Before those, in every round.
  std::uint64_t seed = 1;                 ///< For random orders.
};

std::vector<Flag> replay_flags(ReplaySettings& settings);
/// The checks across several flags.
Status check_replay(const ReplaySettings& settings);

}  // namespace stretto::bench::experiments
