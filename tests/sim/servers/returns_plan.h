// SPDX-License-Identifier: Apache-2.0
// ReturnsPlan: a job of fixed size whose servers are lost and come back, and in some jobs its
// scheduler too, drawn from a seed. Where others stand by for servers tensors have any mode.
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
    kSilence,    ///< It is not heard of any more, and nobody is told.
    kReset,      ///< A link of a worker's is reset.
    kScheduler,  ///< The scheduler ends.
    kPause,      ///< It stands still, and goes on before its members take it for lost.
    kStop,       ///< It stands still for good, and its launcher starts another.
    kDrain,      ///< A server is asked to hand its place over.
    kJoin        ///< One that nobody has asked for comes, to have a place.
  };
  struct Strike {
    Blow blow = Blow::kCrash;
    Duration after = {};  ///< Since the strike before, or since all have come together.
    Duration absence =
        {};  ///< Until another is started, once it is awaited; of a pause, all of it.
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

  // A server ends just before the scheduler stands still, or meanwhile, at the times that jobs have
  // by default: a member then wants decisions for longer than it waits for them.
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

  // Servers are lost besides in two of three jobs, also those that are to have a place and those
  // that give theirs; in half of the jobs servers keep more than sums, and may not be lost.
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

  // Most of the blows are the scheduler's; servers are lost besides in half of the jobs.
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

  // A server just before or after the scheduler; or that one as soon as it has missed a server.
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
  /// There are pushes without a pull, and workers leave without a barrier: what only a server had,
  /// or a worker that has left, may be lost.
  bool may_lose = false;
  /// It is lost and comes back; workers declare tensors late, and meet at barriers on their way.
  bool scheduler_returns = false;
  /// Servers hand their places over.
  bool moves = false;
  /// Servers come from elsewhere. One that is lost before it is in is not started again.
  bool joins = false;
  /// Some tensor is more than the sum of its last round.
  bool keeps = false;
  /// Its heartbeats and its dead time count.
  JobSettings job = {.heartbeat = 50ms, .dead_after = 2s};
  std::vector<TensorSpec> tensors;
  std::vector<Strike> strikes;
};

}  // namespace stretto::sim
