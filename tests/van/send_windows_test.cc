// SPDX-License-Identifier: Apache-2.0
// Bulk has slices and windows of its own, and never makes what is more urgent wait for its turn.
#include "tests/sim/sim_network.h"
#include "tests/van/send_queue_fixture.h"

namespace stretto {
namespace {

constexpr std::uint64_t kSlice = wire::kHeaderBytes + 64;
constexpr std::uint64_t kBulkSlice = wire::kHeaderBytes + 256;

Frame bulk(std::int32_t priority, std::uint64_t mark, std::size_t bytes = 256) {
  Frame made = frame(priority, mark, 1, bytes);
  made.bulk = true;
  return made;
}

/// Two slices of 64 bytes may be in flight on a link and on all, of bulk four of 256.
class SendQueueBulkTest : public SendQueueTest {
 protected:
  SendQueueBulkTest() {
    for (LinkId link : {1U, 2U, 3U}) {
      queue_.windows().shape(link, {2 * kSlice, 64}, {4 * kBulkSlice, 256});
    }
    queue_.windows().set_shaped(2 * kSlice, 4 * kBulkSlice);
  }

  void credit(LinkId link) {
    ASSERT_TRUE(queue_.windows().credited(link, queue_.windows().sent(link)));
  }
};

TEST_F(SendQueueBulkTest, LeavesInSlicesOfItsOwn) {
  queue_.push(1, bulk(0, 1, 1024));
  queue_.push(1, frame(0, 2, 1, 1024));
  for (int i = 0; i < 4; ++i) {
    const auto pick = queue_.next();
    ASSERT_TRUE(pick);
    EXPECT_EQ(pick->bytes, 256U);
    queue_.taken(*pick);
  }
  credit(1);
  const auto pick = queue_.next();
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->bytes, 64U) << "the other one is no bulk";
}

TEST_F(SendQueueBulkTest, FillsItsOwnWindow) {
  for (std::uint64_t mark = 1; mark <= 6; ++mark) queue_.push(1, bulk(0, mark));
  EXPECT_EQ(take_all(), (Marks{1, 2, 3, 4}));
  EXPECT_EQ(queue_.windows().shaped_in_flight(), 4 * kBulkSlice);
}

TEST_F(SendQueueBulkTest, WhatIsMoreUrgentGoesNextOnAnyLink) {
  for (std::uint64_t mark = 1; mark <= 8; ++mark) queue_.push(1, bulk(0, mark));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  EXPECT_EQ(take(), 3U);
  queue_.push(1, frame(1, 21));
  queue_.push(2, frame(2, 22));
  EXPECT_EQ(take(), 22U) << "more than an ordinary window is in flight, and it does not wait";
  EXPECT_EQ(take(), 21U);
}

TEST_F(SendQueueBulkTest, TheOrdinaryWindowIsBackWhenBulkHasArrived) {
  queue_.push(1, bulk(0, 1));
  EXPECT_EQ(take(), 1U);
  credit(1);
  for (std::uint64_t mark = 2; mark <= 6; ++mark) queue_.push(1, frame(0, mark));
  for (std::uint64_t mark = 7; mark <= 9; ++mark) queue_.push(2, frame(0, mark));
  EXPECT_EQ(take_all(), (Marks{7, 2})) << "of all links together";
  queue_.remove_link(2);
  EXPECT_EQ(take_all(), (Marks{3})) << "of this one";
}

TEST_F(SendQueueBulkTest, BulkThatHasLeftTheHostOpensNoWindowForOtherLinks) {
  queue_.push(1, bulk(0, 1));
  EXPECT_EQ(take(), 1U);
  queue_.windows().departed(1, kBulkSlice);
  for (std::uint64_t mark = 2; mark <= 5; ++mark) queue_.push(2, frame(0, mark));
  EXPECT_EQ(take_all(), (Marks{2, 3}));
}

TEST_F(SendQueueBulkTest, ThatYieldsLeavesAsTheOthersDo) {
  queue_.windows().set_bulk_yields(true);
  queue_.push(1, bulk(0, 1, 1024));
  queue_.push(2, bulk(0, 2, 1024));
  const auto pick = queue_.next();
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->bytes, 64U);
  EXPECT_EQ(take_all(), (Marks{1, 2})) << "two slices are the window of all links";
  queue_.windows().set_bulk_yields(false);
  EXPECT_EQ(queue_.next()->bytes, 256U) << "what has begun, too";
}

TEST_F(SendQueueBulkTest, WhatLeftBeforeItYieldsKeepsItsWindowOpenForTheOthersOnly) {
  for (std::uint64_t mark = 1; mark <= 6; ++mark) queue_.push(1, bulk(0, mark));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 2U);
  queue_.windows().set_bulk_yields(true);
  queue_.push(2, bulk(0, 7));
  EXPECT_EQ(take(), 0U) << "more than the ordinary window is in flight";
  queue_.push(1, frame(1, 21));
  EXPECT_EQ(take_all(), (Marks{21})) << "it would wait twice";
  credit(1);
  queue_.push(1, frame(1, 22));
  queue_.push(1, frame(1, 23));
  queue_.push(1, frame(1, 24));
  EXPECT_EQ(take_all(), (Marks{22, 23})) << "and now the ordinary window holds for all";
}

/// Whatever happens, in any order: windows hold, and when all has arrived they are the ordinary.
TEST_F(SendQueueBulkTest, WindowsHoldUnderRandomUse) {
  sim::Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto link = static_cast<LinkId>(1 + random.below(3));
    const auto priority = static_cast<std::int32_t>(random.below(3));
    if (random.chance(0.4)) {
      queue_.push(link, random.chance(0.5) ? bulk(priority, 1) : frame(priority, 1));
    } else if (const auto pick = queue_.next(); pick && random.chance(0.8)) {
      queue_.taken(*pick);
      ASSERT_LE(queue_.windows().shaped_in_flight(), 5 * kBulkSlice);
    } else if (random.chance(0.1)) {
      queue_.windows().set_bulk_yields(random.chance(0.5));
    } else if (random.chance(0.5)) {
      queue_.windows().departed(link, random.below(queue_.windows().sent(link) + 1));
    } else {
      const std::uint64_t taken = queue_.windows().sent(link) - queue_.windows().in_flight(link);
      ASSERT_TRUE(queue_.windows().credited(
          link, taken + random.below(queue_.windows().in_flight(link) + 1)));
    }
  }
  while (queue_.waiting() > 0) {
    take_all();
    for (LinkId link : {1U, 2U, 3U}) credit(link);
  }
  EXPECT_EQ(queue_.windows().shaped_in_flight(), 0U);
  queue_.windows().set_bulk_yields(false);
  for (std::uint64_t mark = 1; mark <= 6; ++mark) queue_.push(1, frame(0, mark));
  EXPECT_EQ(take_all(), (Marks{1, 2}));
}

}  // namespace
}  // namespace stretto
