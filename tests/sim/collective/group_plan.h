// SPDX-License-Identifier: Apache-2.0
// GroupPlan: the plan that a seed determines for a job whose members reduce parts directly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/reduction.h"
#include "collective/strategies.h"
#include "tests/sim/random.h"

namespace stretto::sim {

using collective::Place;
using collective::Places;

struct GroupPlan {
  explicit GroupPlan(std::uint64_t seed);

  /// The members' strategy in an epoch; each epoch has another kind.
  collective::Strategy strategy(const Places& members, std::uint32_t epoch) const;
  Place places() const { return members + (relayed ? 1 : 0); }
  std::string describe() const;

  std::uint64_t seed;
  Place members = 2;  ///< Places 0 to members - 1; place `members` is a relay if `relayed`.
  bool relayed = false;
  std::uint64_t rounds = 1;
  std::vector<std::uint64_t> part_elements;
  collective::Reduction::Order order = collective::Reduction::Order::kArrival;
  Duration most_latency{};
  double twice = 0;                   ///< Probability that a frame arrives twice,
  double absent = 0;                  ///< and that a member contributes empty to a round.
  std::vector<std::uint64_t> losses;  ///< Counts of arrived frames at which a member is lost.
};

}  // namespace stretto::sim
