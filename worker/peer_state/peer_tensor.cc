// SPDX-License-Identifier: Apache-2.0
// Places are in the order of ranks or numbers. Trees are dealt so that one-part tensors have their
// roots in turn, or by their names.
#include "worker/peer_state/peer_tensor.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "collective/send_order.h"
#include "common/check.h"
#include "common/memory/crc32c.h"

namespace stretto {
namespace {

// Tensors are numbered in the order of arrival, which depends on timing. Where bits must be the
// same in every run, names select the trees.
std::uint32_t first_class(const TensorState& tensor) {
  const std::string& name = tensor.spec.name;
  const bool by_name = tensor.spec.options.deterministic;
  return by_name ? crc32c(std::as_bytes(std::span(name))) : tensor.id;
}

Participants places_of(const std::vector<const Member*>& workers, NodeId self) {
  Participants places;
  std::map<std::pair<std::uint64_t, NodeId>, std::uint32_t> machines;
  for (const Member* member : workers) {
    // A worker that does not report its machine counts as alone on it.
    const std::pair where(member->machine, member->machine == 0 ? member->node : 0);
    const auto next = static_cast<std::uint32_t>(machines.size());
    places.machines.push_back(machines.try_emplace(where, next).first->second);
    if (member->node == self) places.self = static_cast<collective::Place>(places.nodes.size());
    places.nodes.push_back(member->node);
    places.ranks.push_back(member->number());
  }
  return places;
}

}  // namespace

Participants Participants::of(const Roster& roster, NodeId self, const std::vector<Rank>& ranks) {
  std::vector<const Member*> workers;
  for (const Member& member : roster.members) {
    const bool wanted = ranks.empty() || std::ranges::count(ranks, member.rank) != 0;
    if (member.role == Role::kWorker && wanted) workers.push_back(&member);
  }
  std::ranges::sort(workers, {}, &Member::rank);
  return places_of(workers, self);
}

Participants Participants::of_nodes(const Roster& roster, NodeId self,
                                    const std::vector<NodeId>& nodes) {
  std::vector<const Member*> workers;
  for (const NodeId node : nodes) {
    if (const Member* member = roster.find(node); member != nullptr) workers.push_back(member);
  }
  return places_of(workers, self);
}
collective::Place Participants::place_of(NodeId node) const {
  const auto found = std::ranges::find(nodes, node);
  return found == nodes.end() ? collective::kNobody
                              : static_cast<collective::Place>(found - nodes.begin());
}

collective::Reduction::Order order_of(const TensorSpec& spec) {
  return spec.options.deterministic ? collective::Reduction::Order::kPlaces
                                    : collective::Reduction::Order::kArrival;
}

collective::StrategyPlan plan_of(Exchange exchange) {
  using collective::Primitive;
  switch (exchange) {
    case Exchange::kRing:
      return {.primitive = Primitive::kRing};
    case Exchange::kHalving:
      return {.primitive = Primitive::kHalving};
    case Exchange::kTree:
      return {.primitive = Primitive::kTree};
    case Exchange::kHierarchical:
      return {.primitive = Primitive::kHierarchical};
    default:
      return {.primitive = Primitive::kDirect};
  }
}

const PeerPart::Kept* PeerPart::kept_of(collective::Place child) const {
  const auto found = std::ranges::find(kept, child, &Kept::from);
  return found == kept.end() ? nullptr : &*found;
}

PeerTensor::PeerTensor(const TensorState& tensor, Participants places,
                       const collective::Strategy& strategy)
    : members(std::move(places)),
      reduction(reduction_of(tensor.spec.options.update.rule)),
      all(strategy.contributors()),
      ready(static_cast<std::uint32_t>(members.nodes.size())),
      id_(tensor.id),
      first_(first_class(tensor)),
      classes_(tensor.parts.size()) {
  STRETTO_CHECK(members.self < members.nodes.size());
  ready.insert(members.self);
  const auto order = order_of(tensor.spec);
  const std::vector<collective::Place> parents = deal(strategy);
  parts.reserve(tensor.parts.size());
  for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
    parts.push_back({.rounds = {node_of(strategy, part), order, 0}, .sum = {}});
  }
}

// This worker's parents, by part.
std::vector<collective::Place> PeerTensor::deal(const collective::Strategy& strategy) {
  const std::size_t first = first_ % strategy.classes().size();
  const std::vector<std::uint16_t> dealt = strategy.deal(first + classes_.size());
  classes_.assign(dealt.begin() + static_cast<std::ptrdiff_t>(first), dealt.end());
  std::vector<collective::Place> parents;
  for (const std::uint16_t each : classes_) {
    parents.push_back(strategy.classes()[each].tree.parent(members.self));
  }
  turns =
      collective::turns_of(members.self, static_cast<std::uint32_t>(members.nodes.size()), parents);
  return parents;
}

collective::TreeNode PeerTensor::node_of(const collective::Strategy& strategy,
                                         std::size_t part) const {
  return strategy.classes()[classes_[part]].tree.node(members.self);
}

void PeerTensor::stop(bool open_ones) {
  for (PeerPart& part : parts) {
    part.rounds.hold(true);
    if (open_ones) part.rounds.stop();
  }
}

control::Regroup::Finished PeerTensor::finished() const {
  control::Regroup::Finished finished{.tensor = id_, .least = 0};
  if (parts.empty()) return finished;
  finished.least = first_open() - 1;
  for (const PeerPart& part : parts) {
    finished.ahead.push_back(static_cast<std::uint32_t>(part.rounds.finished() - finished.least));
  }
  if (std::ranges::count(finished.ahead, 0U) == std::ssize(parts)) finished.ahead.clear();
  return finished;
}

void PeerTensor::regroup(Participants places, const collective::Strategy& strategy,
                         std::uint64_t number) {
  const Participants before = std::exchange(members, std::move(places));
  const IndexSet knew = std::exchange(ready, IndexSet(strategy.limit()));
  for (collective::Place place = 0; place < before.nodes.size(); ++place) {
    if (knew.contains(place)) note_ready(before.nodes[place]);
  }
  note_ready(members.nodes[members.self]);
  all = strategy.contributors();
  generation = number;
  deal(strategy);
}

bool PeerTensor::note_ready(NodeId node) {
  const collective::Place place = members.place_of(node);
  return place != collective::kNobody && ready.insert(place);
}

void PeerTensor::clear() {
  if (group != nullptr) group->clear();
  for (PeerPart& part : parts) {
    part.kept.clear();
    part.early.clear();
    part.unsent = false;
    part.held = false;
    part.made = {};
    part.value = {};
  }
  for (QuorumPart& part : closing) part.clear();
  for (HostPart& part : host) part.clear();
  held = 0;
}

void PeerTensor::take_plan() { deal(terms->strategy()); }

void PeerTensor::enter_term(std::uint32_t part) {
  PeerPart& state = parts[part];
  state.rounds.replan(node_of(terms->strategy(), part));
  state.term = terms->decided();
}

std::uint64_t PeerTensor::first_open() const {
  if (group != nullptr) return group->next();
  if (!host.empty()) {
    return std::ranges::min_element(host, {}, &HostPart::finished)->finished + 1;
  }
  if (!closing.empty()) {
    return std::ranges::min_element(closing, {}, &QuorumPart::finished)->finished + 1;
  }
  std::uint64_t first = parts.empty() ? 1 : parts.front().rounds.finished() + 1;
  for (const PeerPart& part : parts) first = std::min(first, part.rounds.finished() + 1);
  return first;
}

bool PeerTensor::waits_from(std::uint64_t round) const {
  if (group != nullptr) return group->is_open_from(round);
  const auto waits = [round](std::uint64_t begun, std::uint64_t finished) {
    return begun > finished && begun >= round;
  };
  if (!host.empty()) {
    return std::ranges::any_of(
        host, [&waits](const HostPart& part) { return waits(part.begun, part.finished); });
  }
  if (!closing.empty()) {
    return std::ranges::any_of(
        closing, [&waits](const QuorumPart& part) { return waits(part.begun, part.finished); });
  }
  return std::ranges::any_of(parts, [&waits, round](const PeerPart& part) {
    const std::uint64_t begun = part.rounds.begun();
    return waits(begun, part.rounds.finished()) || (part.held && begun + 1 >= round);
  });
}

}  // namespace stretto
