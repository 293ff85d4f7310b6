// SPDX-License-Identifier: Apache-2.0
// Draws a job at random, and for each epoch a strategy: a primitive, or trees of any shape.
#include "tests/sim/collective/group_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace stretto::sim {
namespace {

using collective::Primitive;
using collective::RootClass;
using collective::Strategy;
using collective::Tree;

Places shuffled(Places members, Random& random) {
  for (std::size_t at = members.size(); at > 1; --at) {
    std::swap(members[at - 1], members[random.below(at)]);
  }
  return members;
}

// Each member's parent is a random member that is in the tree already.
RootClass any_tree(const Places& members, Place limit, const Places& relays, Random& random) {
  Places order = shuffled(members, random);
  // Relays come first, since a relay must not be a leaf.
  order.insert(order.begin(), relays.begin(), relays.end());
  Places parents(limit, collective::kNobody);
  for (std::size_t at = 0; at < order.size(); ++at) {
    parents[order[at]] = order[at == 0 ? 0 : random.below(at)];
  }
  return {.tree = *Tree::of(std::move(parents), relays),
          .weight = static_cast<std::uint32_t>(random.below(4))};
}

Strategy any_trees(const Places& members, Place limit, const Places& relays, Random& random) {
  std::vector<RootClass> classes;
  const std::uint64_t count = 1 + random.below(4);
  while (classes.size() < count) classes.push_back(any_tree(members, limit, relays, random));
  classes.front().weight = std::max(classes.front().weight, 1U);
  return *Strategy::of(Primitive::kTree, std::move(classes));
}

Strategy any_hierarchy(const Places& order, Random& random) {
  std::vector<Places> groups(1 + random.below(order.size()));
  for (std::size_t at = 0; at < order.size(); ++at) {
    groups[at < groups.size() ? at : random.below(groups.size())].push_back(order[at]);
  }
  Places among(groups.size());
  std::iota(among.begin(), among.end(), Place{0});
  return *collective::hierarchical(
      groups, random.chance(0.5) ? *collective::ring(among) : *collective::direct(among));
}

}  // namespace

GroupPlan::GroupPlan(std::uint64_t number) : seed(number) {
  Random random(seed);
  members = static_cast<Place>(2 + random.below(8));
  relayed = random.chance(0.3);
  rounds = 1 + random.below(4);
  part_elements.resize(1 + random.below(6));
  for (std::uint64_t& elements : part_elements) elements = 1 + random.below(8);
  if (random.chance(0.5)) order = collective::Reduction::Order::kPlaces;
  most_latency = random.between(1us, 1ms);
  if (random.chance(0.5)) twice = 0.1;
  if (random.chance(0.3)) absent = 0.3;
  const std::uint64_t frames = 2 * (members - 1) * rounds * part_elements.size();
  const std::uint64_t lost = random.chance(0.5) ? 1 + random.below(std::min(members - 1, 3U)) : 0;
  while (losses.size() < lost) losses.push_back(1 + random.below(frames));
  std::ranges::sort(losses);
}

Strategy GroupPlan::strategy(const Places& who, std::uint32_t epoch) const {
  Random random(seed * 1000 + epoch);
  const Place limit = places();
  const Places drawn = shuffled(who, random);
  if (relayed) {
    return random.chance(0.5) ? *collective::one_server(who, members)
                              : any_trees(who, limit, {members}, random);
  }
  std::vector<double> shares;
  for (std::size_t at = 0; at < who.size(); ++at) {
    shares.push_back(static_cast<double>(at == 0 ? 1 : random.below(3)));
  }
  switch (random.below(6)) {
    case 0:
      return *collective::direct(drawn, shares);
    case 1:
      return *collective::ring(drawn);
    case 2:
      return *collective::halving_doubling(drawn);
    case 3:
      return *collective::binary_trees(drawn, 1 + random.below(drawn.size()));
    case 4:
      return any_hierarchy(drawn, random);
    default:
      return any_trees(who, limit, {}, random);
  }
}

std::string GroupPlan::describe() const {
  Places all(members);
  std::iota(all.begin(), all.end(), Place{0});
  return fmt::format(
      "seed {}: {} members{}, {}, {} rounds of {} parts, {}, {} losses", seed, members,
      relayed ? " and a relay" : "", strategy(all, 1).describe(), rounds, part_elements.size(),
      order == collective::Reduction::Order::kPlaces ? "in order" : "as they come", losses.size());
}

}  // namespace stretto::sim
