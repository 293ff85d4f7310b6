// SPDX-License-Identifier: Apache-2.0
// Rounds are sets of workers: each worker is in a round once.
#include "server/aggregation/consistency.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace stretto {

Consistency::Consistency(const TensorOptions& options, ContributorGroup group)
    : mode_(options.mode),
      bound_(options.bound),
      group_(std::move(group)),
      rounds_(group_->size()),
      before_(group_->size()),
      here_(group_->size()) {}

Status Consistency::admit(NodeId worker, std::uint64_t round, bool assign) const {
  const auto index = group_->find(worker);
  if (!index) {
    return {Code::kRefused,
            fmt::format("{} contributes to no round of this part", name_in(*group_, worker))};
  }
  const Rank rank = group_->at(*index).rank;
  if (round != rounds_.of(*index) + 1) {
    return {Code::kMalformed, fmt::format("worker {} sent a share for its round {}, wanted {}",
                                          rank, round, rounds_.of(*index) + 1)};
  }
  if (are_collected(mode_, assign) && here_.contains(*index)) {
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

std::optional<Sources> Consistency::contribute(NodeId worker, bool assign) {
  const auto found = group_->find(worker);
  STRETTO_CHECK(found.has_value());
  const std::uint32_t index = *found;
  const std::uint64_t slowest_before = slowest();
  rounds_.advance(index);
  if (slowest() != slowest_before) ++progress_;
  if (!are_collected(mode_, assign)) {
    if (++version_ == 1) ++progress_;
    return Sources(worker);
  }
  const bool first_time = here_.insert(index);
  STRETTO_CHECK(first_time);
  if (rounds_.left().contains(index)) --lost_;
  open_is_assign_ = assign;
  if (!here_.full()) return {};
  return finish_round();
}

Sources Consistency::finish_round() {
  STRETTO_CHECK(lost_ == 0);
  here_.clear();
  lost_ = rounds_.left().size();
  made_nothing_ = false;
  ++finished_;
  ++version_;
  ++progress_;
  return Sources(group_);
}

void Consistency::resume(std::uint64_t version, std::optional<std::uint64_t> rounds) {
  STRETTO_CHECK(version_ == 0 && !open() && rounds_.most() == 0);
  STRETTO_CHECK(!rounds || (has_rounds(mode_) && version <= *rounds));
  version_ = version;
  ++progress_;
  if (!has_rounds(mode_)) return;
  finished_ = rounds.value_or(version);
  empty_ = finished_ - version;
  before_.assign(before_.size(), finished_);
  const IndexSet left = rounds_.left();
  rounds_ = RoundCounts(before_);
  for (std::uint32_t index = 0; index < group_->size(); ++index) {
    if (left.contains(index)) rounds_.leave(index);
  }
  if (rounds) before_.assign(before_.size(), 0);
}

void Consistency::make_nothing() {
  STRETTO_CHECK(!open() && version_ > 0 && empty_ < finished_);
  --version_;
  ++empty_;
  made_nothing_ = true;
}

void Consistency::leave(NodeId worker) {
  const auto index = group_->find(worker);
  if (!index || rounds_.left().contains(*index)) return;
  rounds_.leave(*index);
  if (!here_.contains(*index)) ++lost_;
  ++progress_;
}

std::optional<Sources> Consistency::regroup(ContributorGroup next) {
  const std::uint64_t front = rounds_.most();  // Of all members: those behind will reach it.
  const ContributorGroup before = std::exchange(group_, std::move(next));
  const IndexSet left_before = rounds_.left();
  const IndexSet here_before = std::exchange(here_, IndexSet(group_->size()));
  std::vector<std::uint64_t> rounds(group_->size());
  const std::vector<std::uint64_t> before_before =
      std::exchange(before_, std::vector<std::uint64_t>(group_->size()));
  std::vector<std::uint32_t> newcomers;
  for (std::uint32_t index = 0; index < group_->size(); ++index) {
    const auto was = before->find(group_->at(index).node);
    if (was) {
      rounds[index] = rounds_.of(*was);
      before_[index] = before_before[*was];
      if (here_before.contains(*was)) here_.insert(index);
    } else {
      newcomers.push_back(index);
    }
  }
  for (const std::uint32_t index : newcomers) {
    before_[index] = has_rounds(mode_) ? finished_ : front;
    rounds[index] = before_[index];
  }
  rounds_ = RoundCounts(std::move(rounds));
  lost_ = 0;
  for (std::uint32_t index = 0; index < before->size(); ++index) {
    if (left_before.contains(index)) leave(before->at(index).node);
  }
  ++progress_;
  if (!here_.full() || here_.empty()) return {};
  return finish_round();
}

Consistency::Gate Consistency::gate_after(bool assign, bool completed) const {
  if (completed && assign && made_nothing_) {
    return {.finished = finished_, .version = 0, .made_nothing = true};
  }
  if (are_collected(mode_, assign)) return {.finished = finished_ + (completed ? 0 : 1)};
  return {.bounded = mode_ == Mode::kBounded};
}

Consistency::Gate Consistency::gate_of_pull(std::uint64_t least_round) const {
  if (has_rounds(mode_)) return {.finished = least_round};
  return {.bounded = mode_ == Mode::kBounded};
}

bool Consistency::passes(const Gate& gate, NodeId worker) const {
  if (finished_ < gate.finished || version_ < gate.version) return false;
  return !gate.bounded || rounds_of(worker) <= slowest() + bound_;
}

std::optional<NodeId> Consistency::absentee() const {
  if (lost_ == 0) return {};
  const std::int64_t index = rounds_.left().first_beyond(here_);
  return group_->at(static_cast<std::uint32_t>(index)).node;
}

std::vector<NodeId> missing_from(const Consistency& rounds) {
  std::vector<NodeId> nodes;
  for (const Contributor& one : rounds.group()->all()) {
    if (!has_come(rounds, one.node)) nodes.push_back(one.node);
  }
  return nodes;
}

std::vector<NodeId> Consistency::awaited() const {
  if (has_rounds(mode_) || open()) return missing_from(*this);
  std::vector<NodeId> nodes;
  for (std::uint32_t index = 0; index < group_->size(); ++index) {
    const bool stays = !rounds_.left().contains(index);
    if (stays && rounds_.of(index) == slowest()) nodes.push_back(group_->at(index).node);
  }
  return nodes;
}

std::uint64_t Consistency::rounds_of(NodeId worker) const {
  const auto index = group_->find(worker);
  return index ? rounds_.of(*index) : 0;
}

std::uint64_t Consistency::applied_of(NodeId worker) const {
  const auto index = group_->find(worker);
  return index ? rounds_.of(*index) - (here_.contains(*index) ? 1 : 0) : 0;
}

std::uint64_t Consistency::rounds_before(NodeId worker) const {
  const auto index = group_->find(worker);
  return index ? before_[*index] : 0;
}

std::uint32_t Consistency::spread() const {
  const std::uint64_t apart = rounds_.most() - slowest();
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(apart, 0xFFFFFFFF));
}

}  // namespace stretto
