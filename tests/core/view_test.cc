// SPDX-License-Identifier: Apache-2.0
// Slots and their owners, and the invariants of a view: each violation is named.
#include "core/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace stretto {
namespace {

using testing::HasSubstr;

Member member(NodeId node, Role role, Rank rank, std::uint32_t shard = 0) {
  return {.node = node, .role = role, .rank = rank, .shard = shard, .address = {}};
}

/// Two workers (2 and 3) and a server of two shards (4 and 5).
View sound() {
  View view;
  view.epoch = 3;
  view.fence = 2;
  for (const Member& m : {member(2, Role::kWorker, 1), member(3, Role::kWorker, 0),
                          member(4, Role::kServer, 0), member(5, Role::kServer, 0, 1)}) {
    view.members[m.node] = m;
  }
  view.slots = SlotMap(8, {4, 5});
  view.contributors.nodes = {2, 3};
  return view;
}

TEST(SlotMap, GivesEverySlotAnOwnerFromTheBegin) {
  const SlotMap map(5, {50, 51});
  EXPECT_EQ(map.owners(), (std::vector<NodeId>{50, 51, 50, 51, 50}));
}

TEST(SlotMap, WithoutShardsThereAreNoSlots) {
  const SlotMap map(5, {});
  EXPECT_EQ(map.size(), 0U);
  EXPECT_TRUE(map.runs(3, 2).empty());
}

TEST(SlotMap, NeighboursOfOneOwnerAreOneRunThatMayWrap) {
  SlotMap map(4, {50});
  map.give(1, 51);
  const std::vector<SlotRun> runs = map.runs(2, 4);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].first, 2U);
  EXPECT_EQ(runs[0].count, 2U);
  EXPECT_EQ(runs[1].first, 0U);
  EXPECT_EQ(runs[2].owner, 51U);
  EXPECT_EQ(map.runs(0, 9).size(), 3U) << "each slot once";
}

TEST(View, ASoundOneHasNoViolation) {
  EXPECT_EQ(violation(sound()), "");
  EXPECT_EQ(violation(View{}), "") << "there is none yet";
  EXPECT_EQ(sound().ranks(Role::kWorker), 2U);
  EXPECT_EQ(sound().ranks(Role::kServer), 1U);
}

TEST(View, WithoutServersThereAreNoSlots) {
  View view = sound();
  view.members.erase(4);
  view.members.erase(5);
  view.slots = {};
  EXPECT_EQ(violation(view), "");
  EXPECT_EQ(view.ranks(Role::kServer), 0U);
}

struct Break {
  const char* says;
  std::function<void(View&)> spoil;
};

TEST(View, EachInvariantIsNamedWhenItBreaks) {
  const std::vector<Break> breaks = {
      {"fence 4 in epoch 3", [](View& v) { v.fence = 4; }},
      {"fence 0 in epoch 3", [](View& v) { v.fence = 0; }},
      {"node 2 is 9", [](View& v) { v.members[2].node = 9; }},
      {"two members are worker 0", [](View& v) { v.members[2].rank = 0; }},
      {"1 ranks of a worker reach up to 1", [](View& v) { v.members.erase(3); }},
      {"slot 1 is owned by node 9, which is no server", [](View& v) { v.slots.give(1, 9); }},
      {"slot 0 is owned by node 2, which is no server", [](View& v) { v.slots.give(0, 2); }},
      {"there are servers, and no slots", [](View& v) { v.slots = {}; }},
      {"slot 0 is owned by node 4, which is no server",
       [](View& v) { v.members.erase(4), v.members.erase(5); }},
      {"node 4 contributes", [](View& v) { v.contributors.nodes.insert(4); }},
      {"nobody contributes", [](View& v) { v.contributors.nodes.clear(); }},
  };
  for (const Break& each : breaks) {
    View view = sound();
    each.spoil(view);
    EXPECT_THAT(violation(view), HasSubstr(each.says));
  }
}

TEST(View, EachInvariantOfAStepIsNamedWhenItBreaks) {
  const std::vector<Break> breaks = {
      {"epoch 3 follows 3", [](View& v) { v.epoch = 3; }},
      {"epoch 5 follows 3", [](View& v) { v.epoch = 5; }},
      {"fence 1 follows 2", [](View& v) { v.fence = 1; }},
      {"round 0 follows 1", [](View& v) { v.contributors.from_round = 0; }},
      {"node 2 is another process", [](View& v) { v.members[2].role = Role::kServer; }},
      {"node 2 is another process", [](View& v) { v.members[2].address = "a:1"; }},
  };
  View next = sound();
  next.epoch = 4;
  next.members[6] = member(6, Role::kWorker, 2);
  EXPECT_EQ(violation(sound(), next), "");
  for (const Break& each : breaks) {
    View view = next;
    each.spoil(view);
    EXPECT_THAT(violation(sound(), view), HasSubstr(each.says));
  }
  View before = sound();
  before.members.erase(2);
  EXPECT_THAT(violation(before, next), HasSubstr("node 2 is another process")) << "it came back";
}

}  // namespace
}  // namespace stretto
