// SPDX-License-Identifier: Apache-2.0
// Places are ranks; trees are dealt so that one-part tensors have their roots in turn, or by their
// names.
#include "worker/member_tensor.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string>

#include "collective/strategies.h"
#include "collective/turns.h"
#include "common/check.h"
#include "common/crc32c.h"

namespace stretto {
namespace {

// Tensors are numbered as they come, which timing decides: where bits are to be the same in every
// run their trees are too.
std::uint32_t first_class(const TensorState& tensor, std::uint32_t classes) {
  const std::string& name = tensor.spec.name;
  const bool by_name = tensor.spec.options.deterministic;
  return (by_name ? crc32c(std::as_bytes(std::span(name))) : tensor.id) % classes;
}

Result<collective::Strategy> by_machines(const std::vector<std::uint32_t>& machines) {
  std::vector<collective::Places> groups;
  for (std::size_t place = 0; place < machines.size(); ++place) {
    if (machines[place] >= groups.size()) groups.resize(machines[place] + 1);
    groups[machines[place]].push_back(static_cast<collective::Place>(place));
  }
  collective::Places all(groups.size());
  std::iota(all.begin(), all.end(), 0U);
  const Result<collective::Strategy> among = collective::direct(all);
  return among.ok() ? collective::hierarchical(groups, *among) : among;
}

}  // namespace

MemberPlaces MemberPlaces::of(const Roster& roster, NodeId self, const std::vector<Rank>& ranks) {
  std::vector<const Member*> workers;
  for (const Member& member : roster.members) {
    const bool wanted = ranks.empty() || std::ranges::count(ranks, member.rank) != 0;
    if (member.role == Role::kWorker && wanted) workers.push_back(&member);
  }
  std::ranges::sort(workers, {}, &Member::rank);
  MemberPlaces places;
  std::map<std::pair<std::uint64_t, NodeId>, std::uint32_t> machines;
  for (const Member* member : workers) {
    // Who does not say where it is is alone there.
    const std::pair where(member->machine, member->machine == 0 ? member->node : 0);
    const auto next = static_cast<std::uint32_t>(machines.size());
    places.machines.push_back(machines.try_emplace(where, next).first->second);
    if (member->node == self) places.self = static_cast<collective::Place>(places.nodes.size());
    places.nodes.push_back(member->node);
    places.ranks.push_back(member->rank);
  }
  return places;
}

collective::Place MemberPlaces::place_of(NodeId node) const {
  const auto found = std::ranges::find(nodes, node);
  return found == nodes.end() ? collective::kNobody
                              : static_cast<collective::Place>(found - nodes.begin());
}

collective::Reduction::Order order_of(const TensorSpec& spec) {
  return spec.options.deterministic ? collective::Reduction::Order::kPlaces
                                    : collective::Reduction::Order::kArrival;
}

Result<collective::Strategy> strategy_of(Exchange exchange,
                                         const std::vector<std::uint32_t>& machines) {
  collective::Places all(machines.size());
  std::iota(all.begin(), all.end(), 0U);
  switch (exchange) {
    case Exchange::kRing:
      return collective::ring(all);
    case Exchange::kHalving:
      return collective::halving_doubling(all);
    case Exchange::kTree:
      return collective::binary_trees(all, all.size());
    case Exchange::kHierarchical:
      return by_machines(machines);
    default:
      return collective::direct(all);
  }
}

const MemberPart::Kept* MemberPart::kept_of(collective::Place child) const {
  const auto found = std::ranges::find(kept, child, &Kept::from);
  return found == kept.end() ? nullptr : &*found;
}

MemberTensor::MemberTensor(const TensorState& tensor, MemberPlaces places,
                           const collective::Strategy& strategy)
    : members(std::move(places)),
      reduction(reduction_of(tensor.spec.options.update.rule)),
      all(strategy.contributors()),
      ready(static_cast<std::uint32_t>(members.nodes.size())) {
  STRETTO_CHECK(members.self < members.nodes.size());
  ready.insert(members.self);
  const auto order = order_of(tensor.spec);
  const auto classes = static_cast<std::uint32_t>(strategy.classes().size());
  const std::uint32_t first = first_class(tensor, classes);
  const std::vector<std::uint16_t> dealt = strategy.deal(first + tensor.parts.size());
  parts.reserve(tensor.parts.size());
  std::vector<collective::Place> parents;
  for (std::size_t part = 0; part < tensor.parts.size(); ++part) {
    const collective::Tree& tree = strategy.classes()[dealt[first + part]].tree;
    parts.push_back({.rounds = {tree.node(members.self), order, 0}, .sum = {}});
    parents.push_back(parts.back().rounds.reduction().node().parent);
  }
  turns =
      collective::turns_of(members.self, static_cast<std::uint32_t>(members.nodes.size()), parents);
}

std::uint64_t MemberTensor::first_open() const {
  if (group != nullptr) return group->next();
  std::uint64_t first = parts.empty() ? 1 : parts.front().rounds.finished() + 1;
  for (const MemberPart& part : parts) first = std::min(first, part.rounds.finished() + 1);
  return first;
}

}  // namespace stretto
