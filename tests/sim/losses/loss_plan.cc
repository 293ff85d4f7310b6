// SPDX-License-Identifier: Apache-2.0
// Derives a plan from a seed.
#include "tests/sim/losses/loss_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto::sim {
namespace {

constexpr Mode kModes[] = {Mode::kSync, Mode::kBounded, Mode::kAsync, Mode::kEager,
                           Mode::kEagerAsync};

// Links that are reset or corrupted, or one silent link. Not both: after a reset a worker cannot
// reconnect in time over a silent path.
void break_links(Random& random, LossPlan& plan) {
  if (!random.chance(0.5)) return;
  if (random.chance(0.25)) {
    plan.strikes.push_back({.kind = LossKind::kDip,
                            .after = random.between(1ms, 50ms),
                            .pause = random.between(1ms, 3s)});
    return;
  }
  Duration after = random.between(1ms, 20ms);
  for (std::uint64_t left = 1 + random.below(6); left > 0; --left) {
    const bool flips = !plan.local && random.chance(0.5);
    plan.strikes.push_back({.kind = flips ? LossKind::kFlip : LossKind::kReset, .after = after});
    after += random.chance(0.5) ? random.between(0ms, 2ms) : random.between(1ms, 50ms);
  }
}

// Strikes in short phases: the first worker there is struck, and another one before the loss of the
// first is detected.
void strike_at_the_end(Random& random, LossPlan& plan) {
  if (!random.chance(0.4)) return;
  const LossPhase phase = random.chance(0.5) ? LossPhase::kReading : LossPhase::kLeaving;
  const Duration last = plan.strikes.back().after;
  const bool alone = random.chance(0.4);
  const auto kind = static_cast<LossKind>(random.below(alone ? kLossKinds : 3));
  const auto strike = [&](LossKind of, bool recovering) {
    const bool harmless = plan.local && of == LossKind::kFlip;
    plan.strikes.push_back({.kind = harmless ? LossKind::kReset : of,
                            .after = last,
                            .pause = random.between(1ms, 3s),
                            .phase = phase,
                            .recovering = recovering});
  };
  strike(kind, false);
  if (!alone) strike(static_cast<LossKind>(random.below(kLossKinds)), true);
}

// In some jobs, for some tensors whose values are sums of their own round.
void exchange_among_workers(std::uint64_t seed, LossPlan& plan) {
  constexpr Exchange kWays[] = {Exchange::kDirect, Exchange::kRing, Exchange::kHalving,
                                Exchange::kTree, Exchange::kHierarchical};
  Random random(seed ^ 0xA3046);
  if (!random.chance(0.5)) return;
  plan.machines = 1 + static_cast<std::uint32_t>(random.below(3));
  for (TensorSpec& spec : plan.tensors) {
    if (LossPlan::grows(spec) || !random.chance(0.7)) continue;
    spec.options.exchange = kWays[random.below(std::size(kWays))];
  }
  if (random.chance(0.4)) plan.worker_links = 2 + static_cast<std::uint32_t>(random.below(3));
}

// Strikes while workers agree on the members of an exchange.
void strike_amid_a_choice(std::uint64_t seed, LossPlan& plan) {
  Random random(seed ^ 0xBE61);
  if (!std::ranges::any_of(plan.tensors, LossPlan::is_among_workers) || !random.chance(0.3)) return;
  const LossKind kind = random.chance(0.5) ? LossKind::kLeave : LossKind::kCrash;
  plan.strikes.insert(plan.strikes.begin(), {.kind = kind, .phase = LossPhase::kChoosing});
}

// Servers are lost while workers are lost and join.
void lose_servers(std::uint64_t seed, LossPlan& plan) {
  Random random(seed ^ 0x57A2D);
  if (!plan.joins.empty()) plan.rounds += 40;
  for (std::uint64_t left = 1 + random.below(5); left > 0; --left) {
    plan.server_strikes.push_back(
        {.after = random.between(Duration::zero(), random.chance(0.5) ? 3ms : 30ms),
         .absence = random.between(Duration::zero(), random.chance(0.2) ? 8s : 4ms),
         .is_told = random.chance(0.7)});
  }
  for (LossPlan::ServerStrike& strike : plan.server_strikes) strike.drains = random.chance(0.3);
}

// Loses at most two replacements: after a third the job reports the migration as impossible.
void move_servers(std::uint64_t seed, LossPlan& plan) {
  Random random(seed ^ 0x30FE5);
  if (!plan.joins.empty()) plan.rounds += 40;
  std::uint64_t losses = random.below(3);
  for (std::uint64_t left = 2 + random.below(6); left > 0; --left) {
    const bool loses = losses > 0 && random.chance(0.3);
    losses -= loses ? 1 : 0;
    plan.server_strikes.push_back(
        {.after = random.between(Duration::zero(), random.chance(0.5) ? 2ms : 20ms),
         .absence = random.between(Duration::zero(), random.chance(0.2) ? 1s : 3ms),
         .is_told = random.chance(0.7),
         .drains = !loses});
  }
}

// Possibly as soon as the next scheduler has started.
void lose_schedulers(std::uint64_t seed, LossPlan& plan) {
  if (!plan.joins.empty()) plan.rounds += 80;
  Random random(seed ^ 0x5CED);
  constexpr LossPlan::Moment kMoments[] = {LossPlan::Moment::kAny, LossPlan::Moment::kSomebodyJoins,
                                           LossPlan::Moment::kSomebodyIsMissing,
                                           LossPlan::Moment::kAllAreAsked};
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
    plan.scheduler_strikes.push_back(
        {.after = random.between(Duration::zero(), random.chance(0.5) ? 3ms : 60ms),
         .absence = random.between(Duration::zero(), random.chance(0.2) ? 6s : 20ms),
         .moment = kMoments[random.below(std::size(kMoments))]});
  }
}

}  // namespace

std::string_view name_of(LossKind kind) {
  constexpr std::string_view kNames[] = {"crash", "silence", "sleep", "leave",
                                         "reset", "flip",    "dip"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(LossPhase phase) {
  constexpr std::string_view kNames[] = {"choosing",     "declaring", "in rounds",
                                         "in a barrier", "reading",   "leaving"};
  return kNames[static_cast<std::size_t>(phase)];
}

LossPlan::LossPlan(std::uint64_t seed, std::uint32_t copies, Beside beside)
    : replicas(copies), moves(beside == Beside::kMoves) {
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
  step_of = 1 + random.below(6);
  for (std::uint64_t i = 0; i < 1 + random.below(workers); ++i) {
    strikes.push_back({.kind = static_cast<LossKind>(random.below(3)),
                       .after = random.between(1ms, random.chance(0.5) ? 20ms : 100ms)});
  }
  local = seed % 2 == 0;
  Random others(seed ^ 0x1EA7E);  // Its own generator: the rest of the seed's plan is unchanged.
  if (others.chance(0.3)) {
    strikes.push_back({.kind = LossKind::kLeave, .after = others.between(1ms, 50ms)});
  }
  break_links(others, *this);
  std::ranges::stable_sort(strikes, {}, &Strike::after);
  for (std::uint32_t i = workers; i < kMostWorkers; ++i) {
    if (!others.chance(0.6)) continue;
    const Duration begin = strikes[others.below(strikes.size())].after;
    joins.push_back({.after = begin + others.between(100us, others.chance(0.5) ? 10ms : 600ms),
                     .waits_for_a_place = others.chance(0.95)});
  }
  std::ranges::sort(joins, {}, &Joining::after);
  Random again(seed ^ 0xA6A1);
  for (Joining& join : joins) join.comes_again = again.chance(0.3);
  if (!joins.empty()) rounds += 20 + others.below(120);
  strike_at_the_end(others, *this);
  exchange_among_workers(seed, *this);
  strike_amid_a_choice(seed, *this);
  if (replicas > 1) lose_servers(seed, *this);
  if (moves) move_servers(seed, *this);
  if (beside == Beside::kScheduler) lose_schedulers(seed, *this);
}

}  // namespace stretto::sim
