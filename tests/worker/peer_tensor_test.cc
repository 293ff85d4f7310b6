// SPDX-License-Identifier: Apache-2.0
// The trees of a tensor's parts.
#include "worker/peer_state/peer_tensor.h"

#include <gtest/gtest.h>

#include <set>

namespace stretto {
namespace {

/// The roots of a tensor's parts among `workers` workers: the places without a parent.
std::vector<collective::Place> roots_of(std::uint32_t id, const std::string& name,
                                        const TensorOptions& options, std::uint32_t workers) {
  const TensorSpec spec{.name = name, .elements = 100, .options = options};
  Tensors tensors;
  const Cut cut(spec, 64);
  tensors.add(id, spec, cut, std::vector<LinkId>(cut.parts(), 1));
  const std::vector<std::uint32_t> machines(workers);
  const collective::Strategy strategy =
      collective::strategy_of(plan_of(options.exchange), machines).or_exit();
  std::vector<collective::Place> roots(cut.parts(), collective::kNobody);
  for (collective::Place self = 0; self < workers; ++self) {
    Participants places{.nodes = {}, .self = self};
    for (NodeId node = 1; node <= workers; ++node) places.nodes.push_back(node);
    const PeerTensor tensor(*tensors.find(id), std::move(places), strategy);
    for (std::size_t part = 0; part < roots.size(); ++part) {
      const auto& node = tensor.parts[part].rounds.reduction().node();
      if (node.parent == collective::kNobody) roots[part] = self;
    }
  }
  return roots;
}

TEST(PeerTensor, PartsHaveTheirRootsInTurn) {
  for (const Exchange exchange : {Exchange::kDirect, Exchange::kRing, Exchange::kHalving,
                                  Exchange::kTree, Exchange::kHierarchical}) {
    const auto roots = roots_of(1, "t", {.exchange = exchange}, 4);
    ASSERT_EQ(roots.size(), 7U);
    for (std::size_t part = 4; part < roots.size(); ++part) {
      EXPECT_EQ(roots[part], roots[part - 4]);
    }
    EXPECT_EQ(std::set(roots.begin(), roots.end()).size(), 4U);
    EXPECT_NE(roots, roots_of(2, "t", {.exchange = exchange}, 4)) << name_of(exchange);
  }
}

TEST(PeerTensor, DeterministicRootsDependOnNameOnly) {
  const TensorOptions options{.deterministic = true, .exchange = Exchange::kRing};
  std::set<std::vector<collective::Place>> found;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    const auto roots = roots_of(1, name, options, 4);
    for (std::uint32_t id = 2; id < 6; ++id) EXPECT_EQ(roots_of(id, name, options, 4), roots);
    found.insert(roots);
  }
  EXPECT_GT(found.size(), 1U);  // Not all at one worker.
}

// Each part travels once from each other machine, through any of its workers.
TEST(PeerTensor, AMachineSendsOneSum) {
  const std::vector<std::uint32_t> machines{0, 1, 0, 1, 2, 0};
  const collective::Strategy strategy =
      collective::strategy_of(plan_of(Exchange::kHierarchical), machines).or_exit();
  std::set<collective::Place> roots;
  for (const collective::RootClass& each : strategy.classes()) {
    std::size_t crossings = 0;
    for (collective::Place place = 0; place < machines.size(); ++place) {
      crossings += machines[place] != machines[each.tree.parent(place)] ? 1 : 0;
    }
    EXPECT_EQ(crossings, 2U);
    roots.insert(each.tree.root());
  }
  EXPECT_EQ(roots.size(), machines.size());
}

TEST(Participants, MachinesAreCountedByTheirFirstMembers) {
  Roster roster;
  const std::uint64_t said[] = {70, 5, 0, 70, 0};  // 0: alone on its machine.
  for (Rank rank = 0; rank < 5; ++rank) {
    Member member;
    member.node = 10 + rank;
    member.rank = rank;
    member.machine = said[rank];
    roster.members.push_back(member);
  }
  EXPECT_EQ(Participants::of(roster, 10).machines, (std::vector<std::uint32_t>{0, 1, 2, 0, 3}));
  EXPECT_EQ(Participants::of(roster, 10, {1, 3}).machines, (std::vector<std::uint32_t>{0, 1}));
}

}  // namespace
}  // namespace stretto
