// SPDX-License-Identifier: Apache-2.0
// Workers of one round are one entry, so that in lockstep there are two.
#include "server/round_counts.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

RoundCounts::RoundCounts(std::uint32_t workers)
    : RoundCounts(std::vector<std::uint64_t>(workers)) {}

RoundCounts::RoundCounts(std::vector<std::uint64_t> rounds)
    : rounds_(std::move(rounds)), left_(workers()) {
  for (const std::uint64_t round : rounds_) {
    enter(round);
    most_ = std::max(most_, round);
  }
}

void RoundCounts::advance(std::uint32_t index) {
  const std::uint64_t before = rounds_[index]++;
  most_ = std::max(most_, before + 1);
  if (left_.contains(index)) return;
  enter(before + 1);
  quit(before);
}

void RoundCounts::leave(std::uint32_t index) {
  if (left_.insert(index)) quit(rounds_[index]);
}

void RoundCounts::quit(std::uint64_t round) {
  const auto stage = stages_.find(round);
  STRETTO_CHECK(stage != stages_.end() && stage->second > 0);
  if (--stage->second == 0) stages_.erase(stage);
}

}  // namespace stretto
