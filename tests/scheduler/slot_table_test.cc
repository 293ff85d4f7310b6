// SPDX-License-Identifier: Apache-2.0
// Placement of parts: balance by bytes, slots that keep their owner, and runs that name each slot
// once.
#include "scheduler/membership/slot_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

constexpr std::uint32_t kPartBytes = 64;

Cut cut_of(std::uint64_t parts, std::uint64_t last_bytes = kPartBytes) {
  return Cut(fake::spec("x", Dtype::kU8, (parts - 1) * kPartBytes + last_bytes), kPartBytes);
}

/// A table and the map that it updates.
struct Slots {
  Slots(std::uint32_t slots, const std::vector<NodeId>& shards)
      : map(slots, shards), table(slots, shards) {}
  std::uint32_t place(const Cut& cut) { return table.place(map, cut); }
  NodeId owner(std::uint32_t slot) const { return map.owner(slot); }
  std::uint64_t load(NodeId shard) const { return table.load(shard); }

  SlotMap map;
  SlotTable table;
};

/// Places a tensor; returns the runs of its slots.
std::vector<SlotRun> placed(Slots& table, const Cut& cut) {
  const std::uint32_t first = table.place(cut);
  return table.map.runs(first, cut.parts());
}

/// The owner of each slot in the runs; expects that no slot is named twice.
std::map<std::uint32_t, NodeId> owners(const std::vector<SlotRun>& runs) {
  std::map<std::uint32_t, NodeId> by_slot;
  for (const SlotRun& run : runs) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      EXPECT_TRUE(by_slot.emplace(run.first + i, run.owner).second) << "a slot named twice";
    }
  }
  return by_slot;
}

TEST(SlotTable, PartsOfOneTensorGoToTheLightestShardInTurn) {
  Slots table(100, {50, 51, 52});
  const auto placement = placed(table, cut_of(6));
  EXPECT_EQ(placement[0].first, 0U);
  const std::map<std::uint32_t, NodeId> wanted{{0, 50}, {1, 51}, {2, 52},
                                               {3, 50}, {4, 51}, {5, 52}};
  EXPECT_EQ(owners(placement), wanted);
  for (NodeId shard : {50U, 51U, 52U}) EXPECT_EQ(table.load(shard), 2 * kPartBytes);
}

TEST(SlotTable, BalancesBytesAndNotParts) {
  Slots table(1000, {50, 51});
  table.place(cut_of(1, 64));
  for (int i = 0; i < 8; ++i) table.place(cut_of(1, 8));
  EXPECT_EQ(table.load(50), 64U);
  EXPECT_EQ(table.load(51), 64U);
}

TEST(SlotTable, TheNextTensorBeginsAfterTheLast) {
  Slots table(100, {50});
  EXPECT_EQ(table.place(cut_of(3)), 0U);
  EXPECT_EQ(table.place(cut_of(2)), 3U);
  EXPECT_EQ(table.place(cut_of(1)), 5U);
}

TEST(SlotTable, NeighboursWithOneOwnerAreOneRun) {
  Slots table(100, {50});
  const auto placement = placed(table, cut_of(7));
  ASSERT_EQ(placement.size(), 1U);
  EXPECT_EQ(placement[0].first, 0U);
  EXPECT_EQ(placement[0].count, 7U);
}

TEST(SlotTable, ATensorMayWrapAroundTheEnd) {
  Slots table(8, {50});
  table.place(cut_of(6));
  const auto placement = placed(table, cut_of(4));
  ASSERT_EQ(placement.size(), 2U) << "slots 6 and 7, then 0 and 1";
  EXPECT_EQ(placement[0].first, 6U);
  EXPECT_EQ(placement[1].first, 0U);
  EXPECT_EQ(placement[1].count, 2U);
}

TEST(SlotTable, ASlotKeepsItsOwnerWhenItIsUsedAgain) {
  Slots table(4, {50, 51});
  table.place(cut_of(4));
  const NodeId before = table.owner(0);
  table.place(cut_of(1, 1));
  EXPECT_EQ(table.owner(0), before);
  EXPECT_EQ(table.load(before), 2 * kPartBytes + 1) << "its bytes count there";
}

TEST(SlotTable, ATensorOfMorePartsThanSlotsNamesEachSlotOnce) {
  Slots table(4, {50, 51});
  const auto placement = placed(table, cut_of(11));
  EXPECT_EQ(owners(placement).size(), 4U);
  EXPECT_EQ(table.load(50) + table.load(51), 11 * kPartBytes);
}

TEST(SlotTable, AnEmptyTensorTakesNoSlot) {
  Slots table(4, {50});
  EXPECT_TRUE(placed(table, Cut(fake::spec("x", Dtype::kF32, 0), kPartBytes)).empty());
  EXPECT_EQ(table.place(cut_of(1)), 0U);
  EXPECT_EQ(table.load(99), 0U);
}

TEST(SlotTable, MovedSlotCarriesItsLoad) {
  Slots table(4, {50, 51});
  table.place(cut_of(4));
  table.table.add(52);
  const NodeId before = table.owner(0);
  table.table.move(table.map, 0, 52);
  EXPECT_EQ(table.owner(0), 52U);
  EXPECT_EQ(table.load(52), kPartBytes);
  EXPECT_EQ(table.load(before), kPartBytes);
}

TEST(SlotTable, AShardWithoutBytesGivesItsSlotsToTheOthers) {
  Slots table(8, {50, 51});
  table.place(cut_of(2));
  const std::uint32_t slot = table.owner(0) == 51 ? 0 : 1;
  table.table.move(table.map, slot, 50);
  table.table.remove(table.map, 51);
  EXPECT_EQ(table.map.owners(), std::vector<NodeId>(8, 50));
}

TEST(SlotTable, ReplacementInheritsSlotsAndLoad) {
  Slots table(8, {50, 51});
  placed(table, cut_of(3, kPartBytes));
  const std::uint64_t load = table.load(51);
  const auto slots = std::ranges::count(table.map.owners(), NodeId{51});
  table.table.replace(table.map, 51, 60);
  EXPECT_EQ(table.load(60), load);
  EXPECT_EQ(table.load(51), 0U);
  EXPECT_EQ(std::ranges::count(table.map.owners(), NodeId{60}), slots);
  EXPECT_EQ(table.table.shards(), 2U);
}

/// For any tensors: every part has an owner, loads add up, and shards differ by at most one part
/// while there are free slots.
TEST(SlotTable, StaysBalancedForRandomTensors) {
  sim::Random random(5);
  Slots table(4096, {50, 51, 52, 53});
  std::uint64_t bytes = 0;
  for (std::uint64_t parts = 0; parts < 4000;) {
    const std::uint64_t more = 1 + random.below(20);
    const Cut cut = cut_of(more, 1 + random.below(kPartBytes));
    const auto by_slot = owners(placed(table, cut));
    ASSERT_EQ(by_slot.size(), more);
    parts += more;
    for (std::uint32_t part = 0; part < more; ++part) bytes += cut.bytes_of_part(part);
    std::uint64_t least = ~std::uint64_t{0}, most = 0, all = 0;
    for (NodeId shard : {50U, 51U, 52U, 53U}) {
      least = std::min(least, table.load(shard));
      most = std::max(most, table.load(shard));
      all += table.load(shard);
    }
    ASSERT_EQ(all, bytes);
    ASSERT_LE(most - least, kPartBytes);
  }
}

}  // namespace
}  // namespace stretto
