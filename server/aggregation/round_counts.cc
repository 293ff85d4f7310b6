// SPDX-License-Identifier: Apache-2.0
// The minimum is kept with the number of workers at it.
#include "server/aggregation/round_counts.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

RoundCounts::RoundCounts(std::uint32_t workers)
    : RoundCounts(std::vector<std::uint64_t>(workers)) {}

RoundCounts::RoundCounts(std::vector<std::uint64_t> rounds)
    : rounds_(std::move(rounds)), left_(workers()) {
  for (const std::uint64_t round : rounds_) most_ = std::max(most_, round);
  look_at_all();
}

void RoundCounts::advance(std::uint32_t index) {
  const std::uint64_t before = rounds_[index]++;
  most_ = std::max(most_, before + 1);
  if (left_.contains(index)) return;
  STRETTO_CHECK(at_least_ > 0 && before >= least_);
  if (before == least_ && --at_least_ == 0) look_at_all();
}

void RoundCounts::leave(std::uint32_t index) {
  if (!left_.insert(index)) return;
  STRETTO_CHECK(at_least_ > 0 && rounds_[index] >= least_);
  if (rounds_[index] == least_ && --at_least_ == 0) look_at_all();
}

void RoundCounts::look_at_all() {
  least_ = most_;
  at_least_ = 0;
  for (std::uint32_t index = 0; index < workers(); ++index) {
    if (left_.contains(index) || rounds_[index] > least_) continue;
    at_least_ = rounds_[index] == least_ ? at_least_ + 1 : 1;
    least_ = rounds_[index];
  }
}

}  // namespace stretto
