// SPDX-License-Identifier: Apache-2.0
// Changes of contributors: applied at once, or after the update in flight, if there is one.
#include "server/storage/contributor_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/cpu_time.h"
#include "tests/server/group.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

class ContributorChangesTest : public testing::Test {
 protected:
  ContributorChangesTest() {
    slots_.begin(
        {.workers = fake::group_of(3), .slots = 4, .since = 1, .part_bytes = 8, .elastic = true});
    EXPECT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2), 0).ok());
  }
  OwnedSlots::Place place() { return *slots_.place_of({1, 0}, {}); }
  std::optional<Update> share(Rank rank, std::uint64_t round) {
    const NodeId worker = fake::node_of(rank);
    auto counted = place().slot->count(
        *place().part, {worker, {1, 0}, round},
        {.worker = worker, .round = round, .bytes = fake::bytes_of(std::vector<float>{1, 2})});
    EXPECT_TRUE(counted.ok());
    return std::move(counted->update);
  }

  OwnedSlots slots_{0, Buffer::allocate};
  std::vector<Update> appended_;
  ContributorChanges changes_{slots_,
                              {.append =
                                   [this](const OwnedSlots::Place& at, Update update) {
                                     appended_.push_back(update);
                                     at.slot->append(*at.part, std::move(update));
                                   },
                               .made_nothing = [](const OwnedSlots::Place&) { FAIL(); },
                               .fail = [](Part&, const Status& why) { FAIL() << why.text(); }}};
};

TEST_F(ContributorChangesTest, ALossMayCompleteARound) {
  share(0, 1);
  share(1, 1);
  changes_.apply(fake::group_of(2), {fake::node_of(2)});
  ASSERT_EQ(appended_.size(), 1U);
  EXPECT_EQ(appended_.front().from.size(), 2U);
}

TEST_F(ContributorChangesTest, AppliesChangeAfterPendingUpdate) {
  share(0, 1);
  share(1, 1);
  std::optional<Update> whole = share(2, 1);
  ASSERT_TRUE(whole.has_value());
  Slot& slot = *place().slot;
  const Slot::Position position = slot.append(*place().part, *std::move(whole));
  changes_.apply(fake::group_of(2), {fake::node_of(2)});
  changes_.settled(*place().part);
  EXPECT_EQ(place().part->collector.rounds().group()->size(), 3U) << "it is not settled";
  slot.release(position);
  changes_.settled(*place().part);
  EXPECT_EQ(place().part->collector.rounds().group()->size(), 2U);
  EXPECT_TRUE(appended_.empty());
}

TEST_F(ContributorChangesTest, PartsThatAreMadeLaterHaveRoundsOfThese) {
  changes_.apply(fake::group_of(1), {fake::node_of(1), fake::node_of(2)});
  EXPECT_TRUE(share(0, 1).has_value());
}

// ---- many parts with an update in flight

// Many parts with an update in flight; each settles after a loss.
class ManyLateParts {
 public:
  explicit ManyLateParts(std::uint32_t parts) : parts_(parts) {
    slots_.begin(
        {.workers = fake::group_of(3), .slots = 4, .since = 1, .part_bytes = 8, .elastic = true});
    EXPECT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2 * parts), 0).ok());
    for (std::uint32_t part = 0; part < parts; ++part) begin(place(part));
  }
  Duration settle() {
    changes_.apply(fake::group_of(2), {fake::node_of(2)});
    slots_.for_each_slot([](Slot& slot) { slot.release(slot.appended()); });
    const Duration begin = thread_cpu_time();
    for (std::uint32_t part = 0; part < parts_; ++part) changes_.settled(*place(part).part);
    return thread_cpu_time() - begin;
  }
  std::uint64_t bytes() const { return slots_.bytes(); }
  std::uint64_t counted_bytes() {
    slots_.count_bytes();
    return slots_.bytes();
  }

 private:
  OwnedSlots::Place place(std::uint32_t part) { return *slots_.place_of({1, part}, {}); }
  void begin(const OwnedSlots::Place& at) {
    for (const Rank rank : {0U, 1U, 2U}) {
      const NodeId worker = fake::node_of(rank);
      auto counted = at.slot->count(
          *at.part, {worker, at.part->key, 1},
          {.worker = worker, .round = 1, .bytes = fake::bytes_of(std::vector<float>{1, 2})});
      ASSERT_TRUE(counted.ok());
      if (counted->update) at.slot->append(*at.part, *std::move(counted->update));
    }
  }

  const std::uint32_t parts_;
  OwnedSlots slots_{0, Buffer::allocate};
  ContributorChanges changes_{slots_,
                              {.append = [](const OwnedSlots::Place&, const Update&) { FAIL(); },
                               .made_nothing = [](const OwnedSlots::Place&) {},
                               .fail = [](Part&, const Status& why) { FAIL() << why.text(); }}};
};

TEST(ManyLatePartsTest, PartsThatSettleAreCounted) {
  ManyLateParts parts(10);
  const std::uint64_t before = parts.bytes();
  parts.settle();
  EXPECT_LT(parts.bytes(), before) << "no shares of the lost worker are kept";
  EXPECT_EQ(parts.bytes(), parts.counted_bytes());
}

TEST(ManyLatePartsTest, APartThatSettlesCountsNoOther) {
  const auto cost_of = [](std::uint32_t parts) {
    Duration least = Duration::max();
    for (int run = 0; run < 3; ++run) least = std::min(least, ManyLateParts(parts).settle());
    return least;
  };
  const Duration of_500 = cost_of(500);
  EXPECT_LT(cost_of(8000), 80 * of_500) << "x16 parts; each counted all before: x256";
}

}  // namespace
}  // namespace stretto
