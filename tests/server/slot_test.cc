// SPDX-License-Identifier: Apache-2.0
// Slots: each contribution counts exactly once by its sender, and no unreleased value is sent.
#include "server/storage/slot.h"

#include <gmock/gmock.h>

#include "tests/server/part_fixture.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Verdict = Slot::Verdict;

constexpr wire::Key kKey{1, 0};

class SlotTest : public PartFixture {
 protected:
  Aggregator::Counted count(Rank rank, std::uint64_t round, const std::vector<float>& numbers) {
    return *slot_->count(
        *part_, {fake::node_of(rank), kKey, round},
        {.worker = fake::node_of(rank), .round = round, .bytes = fake::bytes_of(numbers)});
  }
};

TEST_F(SlotTest, AShareThatHasCountedIsADuplicate) {
  make(2);
  EXPECT_EQ(slot_->admit(*part_, {10, kKey, 1}, 1), Verdict::kApply);
  ASSERT_TRUE(share(0, {1, 2}).ok());
  EXPECT_EQ(slot_->admit(*part_, {10, kKey, 1}, 1), Verdict::kDuplicate);
  EXPECT_EQ(slot_->admit(*part_, {10, kKey, 2}, 1), Verdict::kApply);
  EXPECT_EQ(slot_->admit(*part_, {11, kKey, 1}, 1), Verdict::kApply) << "another worker";
  EXPECT_EQ(slot_->shares(), 1U);
}

TEST_F(SlotTest, AdmitsContributionOfOtherIncarnation) {
  make(1, {.mode = Mode::kAsync});
  ASSERT_TRUE(share(0, {1, 2}).ok());
  EXPECT_EQ(slot_->admit(*part_, {10, kKey, 1}, 1), Verdict::kDuplicate);
  EXPECT_EQ(slot_->admit(*part_, {99, kKey, 1}, 1), Verdict::kApply);
}

TEST_F(SlotTest, ARefusedShareHasNotCounted) {
  make(2);
  EXPECT_FALSE(share(0, {1, 2, 3}).ok());
  EXPECT_EQ(slot_->admit(*part_, {10, kKey, 1}, 1), Verdict::kApply);
  EXPECT_EQ(slot_->shares(), 0U);
}

TEST_F(SlotTest, SharesOfAnEpochBeforeItWasOwnedHereAreOthers) {
  const TensorSpec spec = fake::spec("x", Dtype::kF32, 2);
  Slot slot(7, 3);
  const Part& part = add_part(slot, spec, 2);
  EXPECT_EQ(slot.admit(part, {10, kKey, 1}, 2), Verdict::kMoved);
  EXPECT_EQ(slot.admit(part, {10, kKey, 1}, 3), Verdict::kApply);
  EXPECT_EQ(slot.number(), 7U);
}

TEST_F(SlotTest, MovedSlotRejectsDuplicatesAndOlderEpochs) {
  make(2);
  ASSERT_TRUE(share(0, {1, 2}).ok());
  slot_->move(4);
  EXPECT_EQ(slot_->admit(*part_, {10, kKey, 1}, 4), Verdict::kDuplicate);
  EXPECT_EQ(slot_->admit(*part_, {11, kKey, 1}, 3), Verdict::kMoved);
  EXPECT_EQ(slot_->admit(*part_, {11, kKey, 1}, 4), Verdict::kApply);
}

TEST_F(SlotTest, WorkersWaitUntilUpdateIsReleased) {
  make(2);
  const Aggregator::Counted first = count(0, 1, {1, 2});
  EXPECT_FALSE(first.update.has_value());
  part_->waiting.add({.worker = 10, .gate = first.gate, .since = {}});
  Aggregator::Counted last = count(1, 1, {10, 20});
  ASSERT_TRUE(last.update.has_value());
  EXPECT_EQ(last.update->version, 1U);
  EXPECT_THAT(last.update->from.nodes(), ElementsAre(10, 11));
  const Slot::Position place = slot_->append(*part_, *std::move(last.update));
  EXPECT_EQ(place, 1U);
  EXPECT_EQ(slot_->appended(), 1U);
  EXPECT_EQ(slot_->released(), 0U);
  EXPECT_THAT(part_->take_ready(), IsEmpty());
  EXPECT_EQ(held().version, 0U);
  EXPECT_TRUE(slot_->consistent());
  slot_->release(place);
  EXPECT_EQ(slot_->released(), 1U);
  EXPECT_THAT(value(), ElementsAre(11, 22));
  EXPECT_THAT(part_->take_ready(), SizeIs(1));
}

TEST_F(SlotTest, UpdatesAreReleasedInTheOrderOfTheirPlaces) {
  make(1, {.mode = Mode::kAsync});
  for (std::uint64_t round = 1; round <= 3; ++round) {
    slot_->append(*part_, *count(0, round, {1, 1}).update);
  }
  slot_->release(2);
  EXPECT_EQ(held().version, 2U);
  EXPECT_THAT(value(), ElementsAre(2, 2));
  EXPECT_FALSE(part_->settled());
  slot_->release(2);
  EXPECT_EQ(held().version, 2U) << "once is enough";
  slot_->release(3);
  EXPECT_TRUE(part_->settled());
}

TEST_F(SlotTest, CountsBytesIncludingRuleState) {
  const TensorSpec plain = fake::spec("x", Dtype::kF32, 4);
  const TensorSpec adam =
      fake::spec("y", Dtype::kF32, 4, {.mode = Mode::kAsync, .update = {.rule = Rule::kAdam}});
  Slot slot(0, 0);
  add_part(slot, plain, 1);
  EXPECT_EQ(slot.bytes(), 16U);
  add_part(slot, adam, 1, {2, 0});
  EXPECT_EQ(slot.bytes(), 16U + 16U + 32U + 16U);
  EXPECT_EQ(slot.part_count(), 2U);
}

using SlotDeathTest = SlotTest;

TEST_F(SlotDeathTest, DiesOnReleaseOfUnappendedPosition) {
  make(1);
  EXPECT_DEATH(slot_->release(1), "through <= appended");
}

TEST_F(SlotDeathTest, VersionsGrowByOne) {
  make(1);
  EXPECT_DEATH(part_->store.apply({.key = kKey, .version = 2, .from = Sources(10), .bytes = {}}),
               "version");
}

}  // namespace
}  // namespace stretto
