// SPDX-License-Identifier: Apache-2.0
// A shard's slots: where parts lie, conflicting declarations, and the memory limit.
#include "server/storage/owned_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/group.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class OwnedSlotsTest : public testing::Test {
 protected:
  OwnedSlotsTest() {
    slots_.begin({.workers = fake::group_of(2), .slots = 4, .since = 1, .part_bytes = 8});
  }

  OwnedSlots slots_{64, Buffer::allocate};
  std::set<NodeId> left_;
};

TEST_F(OwnedSlotsTest, PartsLieInTheSlotsAfterTheFirst) {
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 10), 3).ok());  // Five parts.
  const std::uint32_t wanted[] = {3, 0, 1, 2, 3};
  for (std::uint32_t part = 0; part < 5; ++part) {
    const auto place = slots_.place_of({1, part}, left_);
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(place->slot->number(), wanted[part]);
    EXPECT_EQ(place->part->key.part, part);
    EXPECT_EQ(slots_.place_of({1, part}, left_)->part, place->part) << "made once";
  }
  EXPECT_EQ(slots_.parts(), 5U);
  EXPECT_EQ(slots_.bytes(), 40U);
  std::uint64_t bytes = 0;
  slots_.for_each_slot([&bytes](const Slot& slot) { bytes += slot.bytes(); });
  EXPECT_EQ(bytes, slots_.bytes());
}

TEST_F(OwnedSlotsTest, AllSayTheSameOfATensor) {
  const TensorSpec spec = fake::spec("x", Dtype::kF32, 2);
  ASSERT_TRUE(slots_.open(1, spec, 2).ok());
  EXPECT_TRUE(slots_.open(1, spec, 2).ok());
  EXPECT_EQ(slots_.open(1, fake::spec("x", Dtype::kF32, 4), 2).code(), Code::kMismatch);
  EXPECT_THAT(slots_.open(1, spec, 1).cause(), HasSubstr("slot 1, known here in slot 2"));
  EXPECT_EQ(slots_.open(2, spec, 4).code(), Code::kMalformed) << "there are four";
}

TEST_F(OwnedSlotsTest, UnopenedPartHasNoPlace) {
  EXPECT_EQ(slots_.place_of({1, 0}, left_).status().code(), Code::kMalformed);
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2), 0).ok());
  EXPECT_EQ(slots_.place_of({1, 1}, left_).status().code(), Code::kMalformed);
}

TEST_F(OwnedSlotsTest, LimitCountsOptimizerState) {
  const TensorOptions adam{.mode = Mode::kAsync, .update = {.rule = Rule::kAdam}};
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 4, adam), 0).ok());
  ASSERT_TRUE(slots_.place_of({1, 0}, left_).ok());
  EXPECT_EQ(slots_.bytes(), 8U + 16U + 16U);
  EXPECT_EQ(slots_.place_of({1, 1}, left_).status().code(), Code::kResource);
  EXPECT_EQ(slots_.parts(), 1U) << "what is refused takes nothing";
}

// A worker may have left before the scheduler has notified this server.
TEST_F(OwnedSlotsTest, ElasticPartMissesNoDepartedWorker) {
  for (const bool elastic : {false, true}) {
    OwnedSlots slots(64, Buffer::allocate);
    const ContributorGroup group = fake::group_of(2);
    slots.begin({.workers = group, .slots = 4, .since = 1, .part_bytes = 8, .elastic = elastic});
    ASSERT_TRUE(slots.open(1, fake::spec("x", Dtype::kF32, 2), 0).ok());
    const auto place = slots.place_of({1, 0}, {group->all().front().node});
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(place->part->collector.rounds().absentee().has_value(), !elastic);
  }
}

TEST_F(OwnedSlotsTest, TheLimitCountsSharesThatAreKeptForALoss) {
  slots_.begin(
      {.workers = fake::group_of(3), .slots = 4, .since = 1, .part_bytes = 8, .elastic = true});
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 6), 0).ok());  // Three parts.
  ASSERT_TRUE(slots_.place_of({1, 0}, left_).ok());
  EXPECT_EQ(slots_.bytes(), 8U + 3 * 8U);
  ASSERT_TRUE(slots_.place_of({1, 1}, left_).ok());
  EXPECT_THAT(slots_.place_of({1, 2}, left_).status().cause(), HasSubstr("needs 32 more bytes"));
  EXPECT_EQ(slots_.bytes(), 64U);
  slots_.for_each_part(
      [](Part& part) { EXPECT_TRUE(Slot::regroup(part, fake::group_of(2), 0, {12}).ok()); });
  slots_.count_bytes();
  EXPECT_EQ(slots_.bytes(), 48U) << "one worker less may be waited for";
}

TEST_F(OwnedSlotsTest, TheLimitCountsSharesThatWaitForTheirTurn) {
  const TensorOptions in_turn{.deterministic = true};
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2, in_turn), 0).ok());
  ASSERT_TRUE(slots_.place_of({1, 0}, left_).ok());
  EXPECT_EQ(slots_.bytes(), 8U + 8U) << "of two, one waits";
}

TEST_F(OwnedSlotsTest, SharesThatApplyAsTheyComeAreNeverKept) {
  slots_.begin(
      {.workers = fake::group_of(3), .slots = 4, .since = 1, .part_bytes = 8, .elastic = true});
  const TensorOptions at_once{.mode = Mode::kAsync};
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2, at_once), 0).ok());
  ASSERT_TRUE(slots_.place_of({1, 0}, left_).ok());
  EXPECT_EQ(slots_.bytes(), 8U);
}

TEST_F(OwnedSlotsTest, NewPartNamesDepartedWorkerAsAbsentee) {
  left_.insert(11);
  ASSERT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2), 0).ok());
  EXPECT_EQ(slots_.place_of({1, 0}, left_)->part->collector.rounds().absentee(), 11U);
}

}  // namespace
}  // namespace stretto
