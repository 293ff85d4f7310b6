// SPDX-License-Identifier: Apache-2.0
// ReturnsPlan: a job of fixed size whose servers are lost and restart, and in some jobs also the
// scheduler, drawn from a seed. With standbys the tensors may have any mode.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "core/tensor_spec.h"
#include "tests/sim/random.h"

namespace stretto::sim {

struct ReturnsPlan {
  enum class Blow : std::uint8_t {
    kCrash,      ///< A server ends.
    kSilence,    ///< A server falls silent; no peer is notified.
    kReset,      ///< A link of a worker is reset.
    kScheduler,  ///< The scheduler ends.
    kPause,      ///< The scheduler pauses, for less than its members' timeout.
    kStop,       ///< The scheduler stops for good; its launcher starts another.
    kDrain,      ///< A server is drained.
    kJoin        ///< An external server joins.
  };
  struct Strike {
    Blow blow = Blow::kCrash;
    Duration after = {};    ///< Since the previous strike, or since all have joined.
    Duration absence = {};  ///< From the request to the start of a replacement; a pause's length.
  };

  explicit ReturnsPlan(std::uint64_t seed, std::uint32_t copies = 1, bool scheduler = false,
                       bool places_move = false, bool servers_join = false)
      : replicas(copies), scheduler_returns(scheduler), moves(places_move), joins(servers_join) {
    Random random(seed);
    workers = 1 + static_cast<std::uint32_t>(random.below(4));
    servers = 1 + static_cast<std::uint32_t>(random.below(3));
    rounds = 3 + random.below(8);
    may_lose = random.chance(0.2);
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      tensors.push_back({.name = fmt::format("t{}", left),
                         .dtype = Dtype::kI64,
                         .elements = 1 + random.below(60),
                         .options = replicas == 1 ? TensorOptions() : options_of(random)});
    }
    for (std::uint64_t left = 1 + random.below(5); left > 0; --left) {
      const Blow blow = random.chance(0.6)   ? Blow::kCrash
                        : random.chance(0.3) ? Blow::kSilence
                                             : Blow::kReset;
      const Duration most = random.chance(0.2) ? 8s : 4ms;
      strikes.push_back({.blow = blow,
                         .after = random.between(Duration::zero(), 3ms),
                         .absence = random.between(Duration::zero(), most)});
    }
    if (scheduler) add_schedulers(random);
    if (moves) add_drains(random);
    if (joins) add_joins(random);
    if (scheduler && !moves && random.chance(0.25)) add_stop(random);
  }

  // A server ends just before the scheduler pauses or stops, or meanwhile, with a job's default
  // timeouts: a member then waits for decisions beyond its timeout.
  void add_stop(Random& random) {
    job.heartbeat = JobSettings().heartbeat;
    job.dead_after = JobSettings().dead_after;
    const bool pauses = random.chance(0.5);
    const Strike stop{.blow = pauses ? Blow::kPause : Blow::kStop,
                      .after = random.between(Duration::zero(), 3ms),
                      .absence = pauses ? random.between(2500ms, 3900ms)
                                        : random.between(Duration::zero(), 20ms)};
    strikes.push_back(stop);
    const Strike server{.blow = Blow::kCrash,
                        .after = random.between(Duration::zero(), random.chance(0.5) ? 1ms : 2s),
                        .absence = random.between(Duration::zero(), 4ms)};
    strikes.insert(strikes.end() - (random.chance(0.2) ? 1 : 0), server);
  }

  void add_joins(Random& random) {
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      const auto at =
          strikes.begin() + static_cast<std::ptrdiff_t>(random.below(strikes.size() + 1));
      strikes.insert(at, {.blow = Blow::kJoin, .after = random.between(Duration::zero(), 3ms)});
    }
  }

  // In two of three jobs servers are lost too, replacements and replaced ones included. In half of
  // the jobs servers keep state beyond the last sum, which may not be lost.
  void add_drains(Random& random) {
    may_lose = false;
    keeps = random.chance(0.5);
    for (TensorSpec& tensor : tensors) {
      if (keeps) tensor.options = options_of(random);
    }
    if (random.chance(0.3)) strikes.clear();
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
      const auto at =
          strikes.begin() + static_cast<std::ptrdiff_t>(random.below(strikes.size() + 1));
      strikes.insert(at, {.blow = Blow::kDrain,
                          .after = random.between(Duration::zero(), 3ms),
                          .absence = random.between(Duration::zero(), 1ms)});
    }
  }

  // Most strikes hit the scheduler; in half of the jobs servers are lost too.
  void add_schedulers(Random& random) {
    may_lose = false;
    if (random.chance(0.5)) strikes.clear();
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
      const Duration most = random.chance(0.2) ? 6s : 20ms;
      const Duration after = random.chance(0.3) ? 300ms : 3ms;
      const auto at =
          strikes.begin() + static_cast<std::ptrdiff_t>(random.below(strikes.size() + 1));
      strikes.insert(at, {.blow = Blow::kScheduler,
                          .after = random.between(Duration::zero(), after),
                          .absence = random.between(Duration::zero(), most)});
    }
    if (replicas > 1) add_pairs(random);
  }

  // A server is lost just before or after the scheduler, or the scheduler once it detects a loss.
  void add_pairs(Random& random) {
    for (std::size_t i = 0; i < strikes.size(); ++i) {
      if (strikes[i].blow != Blow::kScheduler) continue;
      if (i > 0 && strikes[i - 1].blow == Blow::kSilence && random.chance(0.7)) {
        strikes[i].after = random.between(1990ms, 2200ms);
        continue;
      }
      if (random.chance(0.5)) continue;
      Strike server{.blow = Blow::kCrash, .absence = random.between(Duration::zero(), 4ms)};
      if (random.chance(0.5)) {
        std::swap(server.after, strikes[i].after);
        strikes.insert(strikes.begin() + static_cast<std::ptrdiff_t>(i), server);
      } else {
        server.after = random.between(Duration::zero(), 1ms);
        strikes.insert(strikes.begin() + static_cast<std::ptrdiff_t>(i) + 1, server);
      }
      ++i;
    }
  }

  static TensorOptions options_of(Random& random) {
    constexpr Mode kModesKept[] = {Mode::kSync,  Mode::kSync,  Mode::kBounded,
                                   Mode::kAsync, Mode::kEager, Mode::kEagerAsync};
    TensorOptions options{.mode = kModesKept[random.below(std::size(kModesKept))]};
    if (options.mode == Mode::kBounded) options.bound = static_cast<std::uint32_t>(random.below(3));
    return options;
  }

  std::uint32_t replicas = 1;
  std::uint32_t workers = 1;
  std::uint32_t servers = 1;
  std::uint64_t rounds = 1;
  /// Workers push without pulling, and leave without a barrier: state held only by a server or by a
  /// departed worker may be lost.
  bool may_lose = false;
  /// The scheduler is lost and restarts; workers declare tensors late, and enter barriers.
  bool scheduler_returns = false;
  /// Servers are migrated.
  bool moves = false;
  /// External servers join. A server lost before its admission is not replaced.
  bool joins = false;
  /// Some tensor's value is more than the sum of its last round.
  bool keeps = false;
  /// Only its heartbeats and its dead time are used.
  JobSettings job = {.heartbeat = 50ms, .dead_after = 2s};
  std::vector<TensorSpec> tensors;
  std::vector<Strike> strikes;
};

}  // namespace stretto::sim
