// SPDX-License-Identifier: Apache-2.0
// GroupPlan: everything that a seed decides of a job whose members reduce parts among themselves.
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

  /// By which these exchange in an epoch: of another kind in each.
  collective::Strategy strategy(const Places& members, std::uint32_t epoch) const;
  Place places() const { return members + (relayed ? 1 : 0); }
  std::string describe() const;

  std::uint64_t seed;
  Place members = 2;  ///< Places 0 to this; the next one is a relay where `relayed`.
  bool relayed = false;
  std::uint64_t rounds = 1;
  std::vector<std::uint64_t> part_elements;
  collective::Reduction::Order order = collective::Reduction::Order::kArrival;
  Duration most_latency{};
  double twice = 0;                   ///< How likely a frame comes twice,
  double absent = 0;                  ///< and that a member takes part in a round with nothing.
  std::vector<std::uint64_t> losses;  ///< After so many frames have come a member is lost.
};

}  // namespace stretto::sim
