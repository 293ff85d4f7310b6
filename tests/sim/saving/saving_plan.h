// SPDX-License-Identifier: Apache-2.0
// SavingPlan: a program with checkpoints, run repeatedly by jobs of different sizes. Each job has
// its own end, and the next job resumes from the disk. Drawn from a seed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "core/tensor_spec.h"
#include "tests/sim/random.h"

namespace stretto::sim {

struct SavingPlan {
  enum class Fate : std::uint8_t {
    kEndsWell,
    kPowerFails,    ///< At a disk call: unsynced data is lost or torn.
    kAllAreKilled,  ///< Every process; data written stays.
    kOneIsKilled    ///< The other processes end on their own.
  };
  struct Life {
    std::uint32_t workers = 1;
    std::uint32_t servers = 1;
    std::uint64_t steps = 1;  ///< After the step resumed from.
    Fate fate = Fate::kEndsWell;
    Duration after = {};          ///< Of kills: since all had joined.
    std::uint64_t calls = 0;      ///< Of a power failure: disk calls before it.
    bool disk_is_faulty = false;  ///< Calls fail at random.
  };

  explicit SavingPlan(std::uint64_t seed) {
    Random random(seed);
    every = 1 + random.below(3);
    waits = random.chance(0.4);
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      tensors.push_back({.name = fmt::format("t{}", left),
                         .dtype = Dtype::kI64,
                         .elements = 1 + random.below(60),
                         .options = options_of(random)});
    }
    for (std::uint64_t left = 2 + random.below(4); left > 0; --left) {
      lives.push_back({.workers = 1 + static_cast<std::uint32_t>(random.below(3)),
                       .servers = 1 + static_cast<std::uint32_t>(random.below(3)),
                       .steps = 3 + random.below(8),
                       .fate = left == 1 ? Fate::kEndsWell : fate_of(random),
                       .after = random.between(Duration::zero(), 30ms),
                       .calls = random.below(120),
                       .disk_is_faulty = random.chance(0.3)});
    }
  }

  static TensorOptions options_of(Random& random) {
    constexpr Mode kModesSaved[] = {Mode::kAsync, Mode::kBounded, Mode::kEager, Mode::kEagerAsync,
                                    Mode::kSync};
    TensorOptions options{.mode = kModesSaved[random.below(std::size(kModesSaved))]};
    if (options.mode == Mode::kBounded) options.bound = static_cast<std::uint32_t>(random.below(3));
    return options;
  }
  static Fate fate_of(Random& random) {
    if (random.chance(0.1)) return Fate::kEndsWell;
    if (random.chance(0.5)) return Fate::kPowerFails;
    return random.chance(0.4) ? Fate::kAllAreKilled : Fate::kOneIsKilled;
  }

  std::uint64_t every = 1;  ///< Steps from one checkpoint to the next.
  bool waits = false;       ///< For each checkpoint, before the next step.
  std::vector<TensorSpec> tensors;
  std::vector<Life> lives;
};

}  // namespace stretto::sim
