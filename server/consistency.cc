// SPDX-License-Identifier: Apache-2.0
// Rounds are sets of ranks: a share that comes twice counts once, because the second is refused.
#include "server/consistency.h"

#include <fmt/format.h>

#include <algorithm>

namespace stretto {

Consistency::Consistency(const TensorOptions& options, std::uint32_t workers)
    : mode_(options.mode),
      bound_(options.bound),
      rounds_(workers),
      here_(workers),
      left_(workers) {}

Status Consistency::admit(Rank rank, std::uint64_t round, bool assign) const {
  if (round != rounds_[rank] + 1) {
    return {Code::kMalformed, fmt::format("worker {} sent a share for its round {}, wanted {}",
                                          rank, round, rounds_[rank] + 1)};
  }
  if (collects(assign) && here_[rank]) {
    return {Code::kMalformed,
            fmt::format("worker {} sent two shares for one round, which lacks others", rank)};
  }
  if (has_rounds(mode_) && contributors_ > 0 && open_is_assign_ != assign) {
    return {Code::kMismatch,
            fmt::format("round {}: worker {} {}, others {}; all must do the same in the same order",
                        round, rank, assign ? "broadcasts" : "pushes",
                        open_is_assign_ ? "broadcast" : "push")};
  }
  return {};
}

bool Consistency::contribute(Rank rank, bool assign) {
  ++rounds_[rank];
  if (!collects(assign)) {
    ++version_;
    return true;
  }
  here_[rank] = true;
  open_is_assign_ = assign;
  if (++contributors_ < rounds_.size()) return false;
  here_.assign(rounds_.size(), false);
  contributors_ = 0;
  ++finished_;
  ++version_;
  return true;
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
  for (std::size_t rank = 0; rank < rounds_.size(); ++rank) {
    if (left_[rank] && !here_[rank]) return static_cast<std::int64_t>(rank);
  }
  return -1;
}

std::vector<Rank> Consistency::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < rounds_.size(); ++rank) {
    if (!here_[rank]) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<Rank> Consistency::awaited() const {
  if (has_rounds(mode_) || open()) return missing();
  std::vector<Rank> ranks;
  const std::uint64_t least = slowest();
  for (Rank rank = 0; rank < rounds_.size(); ++rank) {
    if (!left_[rank] && rounds_[rank] == least) ranks.push_back(rank);
  }
  return ranks;
}

std::uint64_t Consistency::slowest() const {
  std::uint64_t least = ~std::uint64_t{0};
  for (std::size_t rank = 0; rank < rounds_.size(); ++rank) {
    if (!left_[rank]) least = std::min(least, rounds_[rank]);
  }
  return least == ~std::uint64_t{0} ? fastest() : least;
}

std::uint64_t Consistency::fastest() const {
  return *std::max_element(rounds_.begin(), rounds_.end());
}

std::uint32_t Consistency::spread() const {
  const std::uint64_t most = fastest();
  const std::uint64_t least = std::min(slowest(), most);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most - least, 0xFFFFFFFF));
}

}  // namespace stretto
