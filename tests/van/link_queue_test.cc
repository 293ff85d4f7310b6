// SPDX-License-Identifier: Apache-2.0
// Which frames of the send queue interrupt others, and which are abandoned and sent again.
#include "tests/van/send_queue_fixture.h"

namespace stretto {
namespace {

// ---- nesting: which frames interrupt nested ones

class SendQueueNesting : public SendQueueTest {
 protected:
  SendQueueNesting() {
    queue_.windows().shape(1, {1 << 20, 100}, {1 << 20, 100});
    queue_.backlog().set_nesting({2, 1000});
  }
  void push(std::int32_t priority, std::uint64_t mark, std::size_t bytes) {
    Frame waiting = frame(priority, mark, 1, bytes);
    waiting.tag = mark;
    queue_.push(1, std::move(waiting));
  }
  /// Begins two frames, the second within the first.
  void begin_two(std::size_t bytes) {
    push(1, 1, bytes);
    EXPECT_EQ(take(), 1U);
    push(2, 2, bytes);
    EXPECT_EQ(take(), 2U);
  }
};

TEST_F(SendQueueNesting, TheSecondGoesOnUntilItEnds) {
  begin_two(400);
  push(3, 3, 400);
  EXPECT_EQ(take_all(), (Marks{2, 2, 2, 3, 3, 3, 3, 1, 1, 1}));
}

TEST_F(SendQueueNesting, AFrameOfOneSliceOvertakesIt) {
  begin_two(400);
  push(3, 3, 400);
  push(4, 4, 100);
  EXPECT_EQ(take(), 4U);
  EXPECT_EQ(take(), 2U);
}

TEST_F(SendQueueNesting, LargerOnesAreInterruptedAlways) {
  begin_two(2000);
  push(3, 3, 400);
  EXPECT_EQ(take(), 3U);
}

TEST_F(SendQueueNesting, OneThatIsPausedOrCancelledGivesWay) {
  begin_two(400);
  push(3, 3, 400);
  queue_.pause(2);
  EXPECT_EQ(take(), 3U);
  queue_.resume(2);
  queue_.cancel(3);
  EXPECT_EQ(take(), 3U) << "the word that the rest will not come";
  EXPECT_EQ(take(), 2U);
}

TEST_F(SendQueueNesting, AFrameIsMeantAndNotItsUrgency) {
  begin_two(400);
  queue_.set_urgency(2, {9});
  while (queue_.next()->frame->tag == 2) take();
  push(2, 5, 5000);
  EXPECT_EQ(take(), 5U) << "as urgent as the one that was protected";
  push(3, 6, 400);
  EXPECT_EQ(take(), 6U) << "but too large to be so itself";
}

TEST_F(SendQueueNesting, PausedFrameDoesNotCountAsNested) {
  push(1, 1, 400);
  EXPECT_EQ(take(), 1U);
  queue_.pause(1);
  push(2, 2, 400);
  EXPECT_EQ(take(), 2U);
  push(3, 3, 400);
  EXPECT_EQ(take(), 3U);
}

// ---- begun frames, where none may be sent whole

class SendQueueRoom : public SendQueueTest {
 protected:
  static constexpr std::uint64_t kLarge = 1000;

  SendQueueRoom() { queue_.windows().set_largest_slice(100); }
  void push(std::int32_t priority, std::uint64_t tag) {
    Frame large = frame(priority, tag, 1, kLarge);
    large.tag = tag;
    queue_.push(1, std::move(large));
  }
  /// Begins as many frames as the peer accepts, with tags 1, 2, ... and rising priorities.
  void begin_all() {
    for (std::uint64_t tag = 1; tag <= wire::kMaxBegun; ++tag) {
      push(static_cast<std::int32_t>(tag), tag);
      EXPECT_EQ(take(), tag);
    }
  }
  /// The tag of the next slice; negative if it abandons a begun frame; 0 if there is none.
  std::int64_t go() {
    const auto pick = queue_.next();
    if (!pick) return 0;
    EXPECT_LE(pick->bytes, 100U);
    const auto tag = static_cast<std::int64_t>(pick->frame->header.version);
    const bool ends = (pick->frame->header.flags & wire::kAbandoned) != 0;
    queue_.taken(*pick);
    return ends ? -tag : tag;
  }
};

TEST_F(SendQueueRoom, NoSliceIsLargerThanTheLargest) {
  queue_.push(1, frame(0, 1, 1, 100));
  queue_.push(1, frame(0, 2, 1, 101));
  queue_.push(1, frame(0, 3, 1, 1 << 20));
  EXPECT_EQ(queue_.next()->bytes, 100U);
  for (int i = 0; i < 1000; ++i) {
    const auto pick = queue_.next();
    ASSERT_TRUE(pick);
    ASSERT_LE(pick->bytes, 100U);
    queue_.taken(*pick);
  }
}

TEST_F(SendQueueRoom, AMoreUrgentFrameTakesThePlaceOfTheLeastUrgent) {
  begin_all();
  push(100, 99);
  EXPECT_EQ(go(), -1) << "the least urgent is given up";
  EXPECT_EQ(queue_.waiting(), wire::kMaxBegun + 1);
  for (int slice = 0; slice < 13; ++slice) EXPECT_EQ(go(), 99);
  EXPECT_EQ(queue_.backlog().untouched(1), 1U) << "it starts over";
  std::int64_t last = 0;
  while (const std::int64_t tag = go()) last = tag;
  EXPECT_EQ(last, 1);
  EXPECT_EQ(queue_.waiting(), 0U);
}

TEST_F(SendQueueRoom, APausedOneGivesItsPlaceFirst) {
  begin_all();
  queue_.pause(20);
  push(0, 99);
  for (std::uint64_t tag = 1; tag <= wire::kMaxBegun; ++tag) {
    if (tag != 20) queue_.pause(tag);
  }
  EXPECT_EQ(go(), -20);
  while (queue_.backlog().has_data(1)) EXPECT_EQ(go(), 99);
  queue_.resume(20);
  EXPECT_EQ(go(), 20);
  EXPECT_EQ(queue_.backlog().untouched(20), 0U);
}

TEST_F(SendQueueRoom, PausedFrameYieldsToLongestWaitingFrame) {
  begin_all();
  for (std::uint64_t tag = 1; tag <= wire::kMaxBegun; ++tag) queue_.pause(tag);
  push(-5, 99);
  std::vector<std::int64_t> aged;
  for (int i = 0; i < 10'000 && aged.size() < 3; ++i) {
    queue_.push(1, frame(5, 1000, 1, 100));
    const std::int64_t went = go();
    if (went != 1000) aged.push_back(went);
    ASSERT_TRUE(queue_.windows().credited(1, queue_.windows().sent(1)));
  }
  EXPECT_EQ(aged, (std::vector<std::int64_t>{-1, 99, 99})) << "the longest paused starts over";
  queue_.resume(1);
  EXPECT_EQ(queue_.backlog().untouched(1), 1U);
}

TEST_F(SendQueueRoom, AmongEqualsOneThatHasBegunGoesOn) {
  begin_all();
  push(50, 99);
  for (std::uint64_t tag = 1; tag <= wire::kMaxBegun; ++tag) queue_.set_urgency(tag, {50});
  EXPECT_EQ(go(), 1);
}

TEST_F(SendQueueRoom, CancelledFrameMakesRoomAtOnce) {
  begin_all();
  push(100, 99);
  queue_.cancel(7);
  EXPECT_EQ(go(), -7);
  EXPECT_EQ(go(), 99);
}

}  // namespace
}  // namespace stretto
