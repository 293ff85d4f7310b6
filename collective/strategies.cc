// SPDX-License-Identifier: Apache-2.0
// Parents by primitive. Positions index a list of members; trees are over places.
#include "collective/strategies.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace stretto::collective {
namespace {

Status check_members(const Places& members) {
  if (members.empty()) return {Code::kInvalidArgument, "no strategy: there are no members"};
  Places sorted = members;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    return {Code::kInvalidArgument, fmt::format("no strategy: member {} is named twice", *twice)};
  }
  if (sorted.back() >= kMostPlaces) {
    return {Code::kInvalidArgument,
            fmt::format("no strategy: member {}, of at most {}", sorted.back(), kMostPlaces)};
  }
  return {};
}

// A tree over the members from each position's parent.
template <typename ParentOf>
Result<Tree> tree_of(const Places& members, ParentOf parent_of, const Places& relays = {}) {
  Places parents(*std::ranges::max_element(members) + 1, kNobody);
  for (std::size_t at = 0; at < members.size(); ++at) {
    parents[members[at]] = members[parent_of(at)];
  }
  return Tree::of(std::move(parents), relays);
}

// A class for each of the first `roots` positions; `parent_of` takes the root's and the member's.
template <typename ParentOf>
Result<Strategy> with_roots(Primitive primitive, const Places& members, std::size_t roots,
                            ParentOf parent_of) {
  std::vector<RootClass> classes;
  for (std::size_t root = 0; root < roots; ++root) {
    Result<Tree> tree = tree_of(members, [&](std::size_t at) { return parent_of(root, at); });
    if (!tree.ok()) return tree.status();
    classes.push_back({.tree = *std::move(tree), .weight = 1});
  }
  return Strategy::of(primitive, std::move(classes));
}

// The parent in a binomial tree with root 0.
std::size_t without_highest_bit(std::size_t number) {
  return number == 0 ? 0 : number - std::bit_floor(number);
}

}  // namespace

Result<Strategy> direct(const Places& members, const std::vector<double>& proportions) {
  if (Status status = check_members(members); !status.ok()) return status;
  if (!proportions.empty() && proportions.size() != members.size()) {
    return Status(Code::kInvalidArgument, fmt::format("no strategy: {} proportions for {} members",
                                                      proportions.size(), members.size()));
  }
  const std::vector<std::uint32_t> weights =
      proportions.empty() ? std::vector<std::uint32_t>(members.size(), 1) : weights_of(proportions);
  std::vector<RootClass> classes;
  for (std::size_t root = 0; root < members.size(); ++root) {
    Result<Tree> tree = tree_of(members, [root](std::size_t) { return root; });
    if (!tree.ok()) return tree.status();
    classes.push_back({.tree = *std::move(tree), .weight = weights[root]});
  }
  return Strategy::of(Primitive::kDirect, std::move(classes));
}

Result<Strategy> ring(const Places& order) {
  if (Status status = check_members(order); !status.ok()) return status;
  const std::size_t count = order.size();
  return with_roots(Primitive::kRing, order, count, [count](std::size_t root, std::size_t at) {
    return at == root ? root : (at + 1) % count;
  });
}

Result<Strategy> halving_doubling(const Places& best_first) {
  if (Status status = check_members(best_first); !status.ok()) return status;
  const std::size_t core = std::bit_floor(best_first.size());
  return with_roots(Primitive::kHalving, best_first, core,
                    [core](std::size_t root, std::size_t at) {
                      return at >= core ? at - core : without_highest_bit(at ^ root) ^ root;
                    });
}

Result<Strategy> binary_trees(const Places& order, std::size_t count) {
  if (Status status = check_members(order); !status.ok()) return status;
  if (count == 0 || count > order.size()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("no strategy: {} trees over {} members", count, order.size()));
  }
  const std::size_t members = order.size();
  return with_roots(Primitive::kTree, order, count, [=](std::size_t tree, std::size_t at) {
    const std::size_t first = tree * members / count;  // The rotation's root.
    const std::size_t in_tree = (at + members - first) % members;
    return in_tree == 0 ? at : ((in_tree - 1) / 2 + first) % members;
  });
}

Result<Strategy> hierarchical(const std::vector<Places>& groups, const Strategy& among) {
  Places all;
  for (const Places& group : groups) {
    if (group.empty()) return Status(Code::kInvalidArgument, "no strategy: a group is empty");
    all.insert(all.end(), group.begin(), group.end());
  }
  if (Status status = check_members(all); !status.ok()) return status;
  if (among.contributors().limit() != groups.size() || !among.contributors().full()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("no strategy: {} groups, and one among {} of {}", groups.size(),
                              among.contributors().size(), among.limit()));
  }
  std::vector<RootClass> classes;
  std::vector<double> shares;  // Of the parts.
  for (const RootClass& outer : among.classes()) {
    const std::size_t turns = groups[outer.tree.root()].size();
    const double share = static_cast<double>(outer.weight) / static_cast<double>(turns);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      Places parents(*std::ranges::max_element(all) + 1, kNobody);
      const auto speaker = [&](std::size_t group) {
        return groups[group][turn % groups[group].size()];
      };
      for (std::size_t group = 0; group < groups.size(); ++group) {
        for (const Place member : groups[group]) parents[member] = speaker(group);
        parents[speaker(group)] = speaker(outer.tree.parent(static_cast<Place>(group)));
      }
      Result<Tree> tree = Tree::of(std::move(parents));
      if (!tree.ok()) return tree.status();
      classes.push_back({.tree = *std::move(tree), .weight = 0});
      shares.push_back(share);
    }
  }
  const std::vector<std::uint32_t> weights = weights_of(shares);
  for (std::size_t at = 0; at < classes.size(); ++at) classes[at].weight = weights[at];
  return Strategy::of(Primitive::kHierarchical, std::move(classes));
}

Result<Strategy> one_server(const Places& members, Place server) {
  Places all = members;
  all.push_back(server);
  if (Status status = check_members(all); !status.ok()) return status;
  Result<Tree> tree = tree_of(all, [&](std::size_t) { return members.size(); }, {server});
  if (!tree.ok()) return tree.status();
  std::vector<RootClass> classes;
  classes.push_back({.tree = *std::move(tree), .weight = 1});
  return Strategy::of(Primitive::kServers, std::move(classes));
}

}  // namespace stretto::collective
