// SPDX-License-Identifier: Apache-2.0
// From a seed to a plan.
#include "tests/sim/losses/loss_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr Mode kModes[] = {Mode::kSync, Mode::kBounded, Mode::kAsync, Mode::kEager,
                           Mode::kEagerAsync};

}  // namespace

LossPlan::LossPlan(std::uint64_t seed) {
  Random random(seed * 0x9E3779B97F4A7C15ULL + 11);
  workers = 2 + static_cast<std::uint32_t>(random.below(kMostWorkers - 1));
  min_workers = 1 + static_cast<std::uint32_t>(random.below(workers));
  servers = 1 + static_cast<std::uint32_t>(random.below(2));
  shards = 1 + static_cast<std::uint32_t>(random.below(2));
  rounds = 4 + random.below(30);
  barrier_every = 2 + random.below(8);
  for (std::uint64_t i = 0; i < 1 + random.below(3); ++i) {
    TensorSpec spec{.name = fmt::format("t{}", i),
                    .dtype = Dtype::kI64,
                    .elements = 1 + random.below(40),
                    .options = {}};
    spec.options.mode = random.chance(0.6) ? Mode::kSync : kModes[random.below(5)];
    if (spec.options.mode == Mode::kBounded) {
      spec.options.bound = static_cast<std::uint32_t>(random.below(4));
    }
    const bool collects = spec.options.mode == Mode::kSync || spec.options.mode == Mode::kEager;
    spec.options.deterministic = collects && random.chance(0.3);
    tensors.push_back(spec);
  }
  for (std::uint64_t i = 0; i < 1 + random.below(workers); ++i) {
    strikes.push_back({.kind = static_cast<LossKind>(random.below(3)),
                       .after = random.between(1ms, random.chance(0.5) ? 20ms : 100ms)});
  }
  std::ranges::sort(strikes, {}, &Strike::after);
}

}  // namespace stretto::sim
