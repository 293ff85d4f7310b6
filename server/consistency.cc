// SPDX-License-Identifier: Apache-2.0
// Rounds are sets of ranks: a worker is in one once.
#include "server/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

Consistency::Consistency(const TensorOptions& options, std::uint32_t workers)
    : mode_(options.mode), bound_(options.bound), rounds_(workers), here_(workers) {}

Status Consistency::admit(Rank rank, std::uint64_t round, bool assign) const {
  if (round != rounds_.of(rank) + 1) {
    return {Code::kMalformed, fmt::format("worker {} sent a share for its round {}, wanted {}",
                                          rank, round, rounds_.of(rank) + 1)};
  }
  if (collects(assign) && here_.contains(rank)) {
    return {Code::kMalformed,
            fmt::format("worker {} sent two shares for one round, which lacks others", rank)};
  }
  if (has_rounds(mode_) && open() && open_is_assign_ != assign) {
    return {Code::kMismatch,
            fmt::format("round {}: worker {} {}, others {}; all must do the same in the same order",
                        round, rank, assign ? "broadcasts" : "pushes",
                        open_is_assign_ ? "broadcast" : "push")};
  }
  return {};
}

std::optional<RankSet> Consistency::contribute(Rank rank, bool assign) {
  const std::uint64_t slowest_before = slowest();
  rounds_.advance(rank);
  if (slowest() != slowest_before) ++progress_;
  if (!collects(assign)) {
    if (++version_ == 1) ++progress_;
    RankSet alone(rounds_.workers());
    alone.insert(rank);
    return alone;
  }
  const bool first_time = here_.insert(rank);
  STRETTO_CHECK(first_time);
  if (rounds_.left().contains(rank)) --lost_;
  open_is_assign_ = assign;
  if (!here_.full()) return {};
  return finish_round();
}

RankSet Consistency::finish_round() {
  STRETTO_CHECK(lost_ == 0);
  RankSet contributors = std::exchange(here_, RankSet(rounds_.workers()));
  lost_ = rounds_.left().size();
  ++finished_;
  ++version_;
  ++progress_;
  return contributors;
}

void Consistency::leave(Rank rank) {
  if (rounds_.left().contains(rank)) return;
  rounds_.leave(rank);
  if (!here_.contains(rank)) ++lost_;
  ++progress_;
}

Consistency::Gate Consistency::gate_after(bool assign, bool completed) const {
  if (collects(assign)) return {.finished = finished_ + (completed ? 0 : 1)};
  return {.bounded = mode_ == Mode::kBounded};
}

Consistency::Gate Consistency::gate_of_pull(std::uint64_t least_round) const {
  if (has_rounds(mode_)) return {.finished = least_round};
  return {.bounded = mode_ == Mode::kBounded};
}

bool Consistency::passes(const Gate& gate, Rank rank) const {
  if (finished_ < gate.finished || version_ < gate.version) return false;
  return !gate.bounded || within_bound(rank);
}

std::int64_t Consistency::absentee() const {
  return lost_ == 0 ? -1 : rounds_.left().first_beyond(here_);
}

std::vector<Rank> Consistency::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < rounds_.workers(); ++rank) {
    if (!here_.contains(rank)) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<Rank> Consistency::awaited() const {
  if (has_rounds(mode_) || open()) return missing();
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < rounds_.workers(); ++rank) {
    const bool stays = !rounds_.left().contains(rank);
    if (stays && rounds_.of(rank) == slowest()) ranks.push_back(rank);
  }
  return ranks;
}

std::uint32_t Consistency::spread() const {
  const std::uint64_t apart = rounds_.most() - slowest();
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(apart, 0xFFFFFFFF));
}

}  // namespace stretto
