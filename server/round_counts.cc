// SPDX-License-Identifier: Apache-2.0
// Workers of one round are one entry, so that in lockstep there are two.
#include "server/round_counts.h"

#include <algorithm>

#include "common/check.h"

namespace stretto {

RoundCounts::RoundCounts(std::uint32_t workers) : rounds_(workers), left_(workers) {
  if (workers > 0) stages_[0] = workers;
}

void RoundCounts::advance(Rank rank) {
  const std::uint64_t before = rounds_[rank]++;
  most_ = std::max(most_, before + 1);
  if (left_.contains(rank)) return;
  enter(before + 1);
  quit(before);
}

void RoundCounts::leave(Rank rank) {
  if (left_.insert(rank)) quit(rounds_[rank]);
}

void RoundCounts::quit(std::uint64_t round) {
  const auto stage = stages_.find(round);
  STRETTO_CHECK(stage != stages_.end() && stage->second > 0);
  if (--stage->second == 0) stages_.erase(stage);
}

}  // namespace stretto
