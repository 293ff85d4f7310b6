// SPDX-License-Identifier: Apache-2.0
// Contributions to an open round are not included: workers retransmit them.
#include "server/aggregation/rounds_snapshot.h"

#include <set>

namespace stretto {

RoundsSnapshot RoundsSnapshot::of(const Consistency& rounds) {
  RoundsSnapshot made;
  made.version = rounds.version_;
  made.finished = rounds.finished_;
  made.empty = rounds.empty_;
  made.made_nothing = rounds.made_nothing_;
  for (std::uint32_t index = 0; index < rounds.group_->size(); ++index) {
    const std::uint64_t open = rounds.here_.contains(index) ? 1 : 0;
    made.workers.push_back({.node = rounds.group_->at(index).node,
                            .rounds = rounds.rounds_.of(index) - open,
                            .before = rounds.before_[index],
                            .number = rounds.group_->at(index).rank});
  }
  return made;
}

ContributorGroup RoundsSnapshot::group() const {
  std::set<NodeId> nodes;
  std::set<Rank> numbers;
  std::vector<Contributor> all;
  for (const Worker& worker : workers) {
    const bool is_new = nodes.insert(worker.node).second && numbers.insert(worker.number).second;
    if (!is_new) return nullptr;
    all.push_back({worker.node, worker.number});
  }
  return all.empty() ? nullptr : make_group(std::move(all));
}

bool RoundsSnapshot::give(Consistency& rounds) const {
  const Contributors& group = *rounds.group_;
  std::vector<std::uint64_t> counts(group.size());
  std::vector<std::uint64_t> befores(group.size());
  IndexSet known(group.size());
  for (const Worker& worker : workers) {
    const auto index = group.find(worker.node);
    if (!index || !known.insert(*index)) return false;
    counts[*index] = worker.rounds;
    befores[*index] = worker.before;
  }
  const bool sound = empty <= finished && finished <= version + empty;
  if (rounds.open() || !known.full() || !sound) return false;
  rounds.version_ = version;
  rounds.finished_ = finished;
  rounds.empty_ = empty;
  rounds.made_nothing_ = made_nothing;
  rounds.before_ = std::move(befores);
  ++rounds.progress_;
  const IndexSet left = rounds.rounds_.left();
  rounds.rounds_ = RoundCounts(std::move(counts));
  for (std::uint32_t index = 0; index < group.size(); ++index) {
    if (left.contains(index)) rounds.rounds_.leave(index);
  }
  return true;
}

}  // namespace stretto
