// SPDX-License-Identifier: Apache-2.0
// The next frame to send: urgency over all links, round robin among equals, windows, and control
// before data.
#include "van/queue/send_queue.h"

#include "tests/sim/sim_network.h"
#include "tests/van/send_queue_fixture.h"

namespace stretto {
namespace {

TEST_F(SendQueueTest, MostUrgentFirstOverAllLinks) {
  queue_.push(1, frame(0, 1));
  queue_.push(2, frame(5, 2));
  queue_.push(3, frame(-1, 3));
  queue_.push(1, frame(9, 4));
  EXPECT_EQ(queue_.waiting(), 4U);
  EXPECT_EQ(take_all(), (Marks{4, 2, 1, 3}));
  EXPECT_EQ(queue_.waiting(), 0U);
}

TEST_F(SendQueueTest, UrgentFrameOvertakesQueuedFrames) {
  for (std::uint64_t mark = 1; mark <= 3; ++mark) queue_.push(1, frame(0, mark));
  EXPECT_EQ(take(), 1U);
  queue_.push(1, frame(1, 9));
  EXPECT_EQ(take_all(), (Marks{9, 2, 3}));
}

TEST_F(SendQueueTest, EqualFramesRoundRobinAcrossLinks) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (LinkId link : {1U, 2U, 3U}) queue_.push(link, frame(7, link * 10 + i));
  }
  EXPECT_EQ(take_all(), (Marks{10, 20, 30, 11, 21, 31, 12, 22, 32}));
}

TEST_F(SendQueueTest, FirstFrameAfterPauseHasFirstTurn) {
  for (LinkId first : {2U, 3U, 1U}) {
    for (LinkId i = 0; i < 3; ++i) queue_.push((first + i - 1) % 3 + 1, frame(0, first + i));
    EXPECT_EQ(take_all(), (Marks{first, first + 1, first + 2}));
  }
}

TEST_F(SendQueueTest, BusyLinkDoesNotStarveOthers) {
  for (std::uint64_t i = 1; i <= 100; ++i) queue_.push(1, frame(0, i));
  EXPECT_EQ(take(), 1U);
  queue_.push(2, frame(0, 200));
  EXPECT_EQ(take(), 200U);
  EXPECT_EQ(take(), 2U);
}

TEST_F(SendQueueTest, LinkWindowBoundsBytesInFlight) {
  queue_.windows().set(2 * kFrame, 100 * kFrame);
  for (std::uint64_t mark = 1; mark <= 4; ++mark) queue_.push(1, frame(0, mark));
  EXPECT_EQ(take_all(), (Marks{1, 2}));
  EXPECT_EQ(queue_.windows().in_flight(1), 2 * kFrame);
  queue_.push(2, frame(-9, 20));
  EXPECT_EQ(take(), 20U) << "another link's window is its own";
  EXPECT_TRUE(queue_.windows().credited(1, kFrame));
  EXPECT_EQ(queue_.windows().in_flight(1), kFrame);
  EXPECT_EQ(take_all(), (Marks{3}));
}

TEST_F(SendQueueTest, TotalWindowBoundsBytesInFlight) {
  queue_.windows().set(100 * kFrame, 3 * kFrame);
  for (LinkId link : {1U, 2U, 3U}) {
    queue_.push(link, frame(0, link * 10));
    queue_.push(link, frame(0, link * 10 + 1));
  }
  EXPECT_EQ(take_all(), (Marks{10, 20, 30}));
  EXPECT_EQ(queue_.windows().in_flight(), 3 * kFrame);
  EXPECT_EQ(queue_.windows().most_in_flight(), kFrame);
  EXPECT_TRUE(queue_.windows().credited(2, kFrame));
  EXPECT_EQ(take_all(), (Marks{11}));
}

TEST_F(SendQueueTest, AFrameLargerThanTheWindowPassesAnOpenOne) {
  queue_.windows().set(100, 100);
  queue_.push(1, frame(0, 1, 1, 4096));
  queue_.push(1, frame(0, 2));
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(take(), 0U) << "the window is closed until the far end has taken it";
  EXPECT_TRUE(queue_.windows().credited(1, wire::kHeaderBytes + 4096));
  EXPECT_EQ(take(), 2U);
}

TEST_F(SendQueueTest, ControlBypassesWindows) {
  queue_.windows().set(1, 1);
  queue_.push(1, frame(1000, 1));
  EXPECT_EQ(take(), 1U);
  queue_.push(1, frame(1000, 2));
  queue_.push_control(1, frame(0, 3));
  queue_.push_control(1, frame(0, 4));
  const auto pick = queue_.next();
  ASSERT_TRUE(pick);
  EXPECT_TRUE(pick->control);
  EXPECT_EQ(take_all(), (Marks{3, 4}));
  EXPECT_EQ(queue_.windows().in_flight(1), kFrame) << "control does not count against windows";
  EXPECT_EQ(queue_.waiting(), 1U);
}

TEST_F(SendQueueTest, AFullLinkIsPassedByUntilItIsWritable) {
  queue_.push(1, frame(9, 1));
  queue_.push_control(1, frame(0, 2));
  queue_.push(2, frame(0, 3));
  queue_.full(1);
  EXPECT_EQ(take_all(), (Marks{3}));
  queue_.writable(1);
  EXPECT_EQ(take_all(), (Marks{2, 1}));
}

TEST_F(SendQueueTest, CancelDropsOneTagsDataAndNothingElse) {
  queue_.push(1, tagged(0, 1, 5));
  queue_.push(1, tagged(0, 2, 6));
  queue_.push(1, tagged(3, 3, 5));
  queue_.push(2, tagged(0, 4, 5));
  queue_.push(2, frame(0, 6));
  queue_.push_control(2, tagged(0, 5, 5));
  EXPECT_EQ(queue_.cancel(5).size(), 3U);
  EXPECT_TRUE(queue_.cancel(0).empty()) << "what has no tag is nobody's";
  EXPECT_EQ(queue_.waiting(), 3U);
  EXPECT_EQ(take_all(), (Marks{5, 2, 6}));
}

TEST_F(SendQueueTest, CancellingEndsTheLeases) {
  int ended = 0;
  Frame lent = tagged(0, 1, 5);
  lent.payload = Buffer::borrow({}, [&ended] { ++ended; });
  queue_.push(1, std::move(lent));
  queue_.cancel(5);
  EXPECT_EQ(ended, 1);
}

TEST_F(SendQueueTest, CreditForMoreThanWasSentIsNotBelieved) {
  queue_.push(1, frame(0, 1));
  EXPECT_EQ(take(), 1U);
  EXPECT_FALSE(queue_.windows().credited(1, kFrame + 1));
  EXPECT_EQ(queue_.windows().in_flight(1), kFrame) << "and changes nothing";
  EXPECT_TRUE(queue_.windows().credited(1, kFrame));
  EXPECT_TRUE(queue_.windows().credited(1, kFrame - 1)) << "old news";
  EXPECT_EQ(queue_.windows().in_flight(1), 0U);
  EXPECT_EQ(queue_.windows().in_flight(), 0U);
}

TEST_F(SendQueueTest, ALinkThatGoesTakesItsFramesAndItsBytesWithIt) {
  queue_.windows().set(kFrame, kFrame);
  queue_.push(1, frame(0, 1));
  queue_.push(1, frame(0, 2));
  queue_.push_control(1, frame(0, 3));
  EXPECT_EQ(take(), 3U);
  EXPECT_EQ(take(), 1U);
  queue_.push_control(1, frame(0, 4));
  queue_.push(2, frame(0, 20));
  EXPECT_EQ(queue_.waiting(), 3U);
  queue_.remove_link(1);
  EXPECT_EQ(queue_.windows().in_flight(), 0U);
  EXPECT_EQ(queue_.waiting(), 1U);
  EXPECT_EQ(take_all(), (Marks{20}));
}

TEST_F(SendQueueTest, UnknownLinksAreIgnored) {
  queue_.push(77, frame(0, 1));
  queue_.push_control(77, frame(0, 2));
  queue_.remove_link(77);
  queue_.writable(77);
  EXPECT_TRUE(queue_.windows().credited(77, 1000));
  EXPECT_EQ(queue_.waiting(), 0U);
  EXPECT_EQ(take(), 0U);
}

TEST_F(SendQueueTest, FramesLeaveInPreemptibleSlices) {
  queue_.windows().shape(1, {1 << 20, 100}, {1 << 20, 100});
  queue_.push(1, frame(0, 1, 1, 350));
  auto pick = queue_.next();
  EXPECT_EQ(pick->offset, 0U);
  EXPECT_EQ(pick->bytes, 100U);
  EXPECT_FALSE(pick->last);
  queue_.taken(*pick);
  queue_.push(1, frame(5, 2));
  EXPECT_EQ(take(), 2U) << "the urgent one goes in between";
  pick = queue_.next();
  EXPECT_EQ(pick->offset, 100U);
  queue_.taken(*pick);
  pick = queue_.next();
  EXPECT_EQ(pick->offset, 200U);
  queue_.taken(*pick);
  pick = queue_.next();
  EXPECT_EQ(pick->offset, 300U);
  EXPECT_EQ(pick->bytes, 50U);
  EXPECT_TRUE(pick->last);
  queue_.taken(*pick);
  EXPECT_EQ(queue_.waiting(), 0U);
  EXPECT_EQ(queue_.windows().sent(1), 350U + 4 * wire::kHeaderBytes + kFrame);
}

TEST_F(SendQueueTest, EarlierDeadlineGoesFirstAmongEquals) {
  const auto at = [](std::uint64_t mark, Duration deadline) {
    Frame made = frame(0, mark);
    made.deadline = Time(deadline);
    return made;
  };
  queue_.push(1, frame(0, 1));
  queue_.push(1, at(2, 9s));
  queue_.push(2, at(3, 5s));
  queue_.push(1, frame(1, 4));
  EXPECT_EQ(take_all(), (Marks{4, 3, 2, 1}));
}

TEST_F(SendQueueTest, UrgencyCanBeChangedWhileAFrameWaits) {
  for (std::uint64_t mark = 1; mark <= 3; ++mark) {
    Frame made = frame(0, mark);
    made.tag = mark;
    queue_.push(1, std::move(made));
  }
  queue_.set_urgency(3, {.priority = 7});
  queue_.set_urgency(1, {.priority = -7});
  EXPECT_EQ(take_all(), (Marks{3, 2, 1}));
}

TEST_F(SendQueueTest, APausedFrameGoesOnWhereItStood) {
  queue_.windows().shape(1, {1 << 20, 100}, {1 << 20, 100});
  Frame made = frame(0, 1, 1, 300);
  made.tag = 8;
  queue_.push(1, std::move(made));
  EXPECT_EQ(take(), 1U);
  queue_.pause(8);
  EXPECT_EQ(take(), 0U);
  EXPECT_EQ(queue_.waiting(), 1U);
  EXPECT_FALSE(queue_.backlog().has_data(1));
  queue_.resume(8);
  const auto pick = queue_.next();
  EXPECT_EQ(pick->offset, 100U);
  EXPECT_EQ(take_all().size(), 2U);
}

TEST_F(SendQueueTest, CancelTellsFarEndOnlyOfBegunFrames) {
  queue_.windows().shape(1, {1 << 20, 100}, {1 << 20, 100});
  for (std::uint64_t tag : {1U, 2U}) {
    Frame made = frame(0, tag, 1, 300);
    made.tag = tag;
    queue_.push(1, std::move(made));
  }
  EXPECT_EQ(take(), 1U);
  queue_.cancel(2);
  EXPECT_EQ(queue_.waiting(), 1U);
  queue_.pause(1);
  queue_.cancel(1);
  const auto pick = queue_.next();
  EXPECT_EQ(pick->frame->header.kind, wire::Kind::kMore);
  EXPECT_EQ(pick->frame->header.flags, wire::kAbandoned);
  EXPECT_EQ(pick->bytes, 0U);
  EXPECT_TRUE(pick->last);
  queue_.taken(*pick);
  EXPECT_EQ(queue_.waiting(), 0U);
}

TEST_F(SendQueueTest, LeastUrgentFrameGetsMinimumShare) {
  queue_.push(1, frame(-9, 1, 1, 4096));
  std::uint64_t urgent_bytes = 0;
  for (int i = 0; i < 1000; ++i) {
    queue_.push(2, frame(9, 2, 1, 4096));
    const std::uint64_t mark = take();
    ASSERT_TRUE(queue_.windows().credited(2, queue_.windows().sent(2)));
    if (mark == 1) break;
    urgent_bytes += 4096;
  }
  EXPECT_GT(urgent_bytes, 31U * 4096U) << "no more than one byte in 32";
  EXPECT_LT(urgent_bytes, 64U * 4096U);
}

TEST_F(SendQueueTest, DepartedBytesFreeSharedWindow) {
  queue_.windows().set_shaped(2 * kFrame, 2 * kFrame);
  for (LinkId link : {1U, 2U})
    queue_.windows().shape(link, {10 * kFrame, 4096}, {10 * kFrame, 4096});
  for (int i = 0; i < 3; ++i) queue_.push(1, frame(0, 1));
  queue_.push(2, frame(0, 2));
  EXPECT_EQ(take_all(), (Marks{1, 2}));
  queue_.windows().departed(1, kFrame);
  EXPECT_EQ(take_all(), (Marks{1}));
  EXPECT_EQ(queue_.windows().in_flight(1), 2 * kFrame) << "it still counts for its own link";
  EXPECT_TRUE(queue_.windows().credited(1, 2 * kFrame));
  EXPECT_TRUE(queue_.windows().credited(2, kFrame));
  EXPECT_EQ(queue_.windows().in_flight(), 0U);
}

TEST_F(SendQueueTest, BeginningsAreBounded) {
  queue_.windows().shape(1, {1 << 20, 64}, {1 << 20, 64});
  for (std::int32_t priority = 0; priority <= static_cast<std::int32_t>(wire::kMaxBegun);
       ++priority) {
    queue_.push(1, frame(priority, 1, 1, 640));
    const auto pick = queue_.next();
    const bool whole = priority == static_cast<std::int32_t>(wire::kMaxBegun);
    EXPECT_EQ(pick->bytes, whole ? 640U : 64U);
    queue_.taken(*pick);
  }
}

/// After any operations in any order, the counters match the queue's content.
TEST_F(SendQueueTest, CountersHoldUnderRandomUse) {
  sim::Random random(42);
  std::vector<std::uint64_t> sent(4), credited(4);
  std::uint64_t pushed = 0;
  std::uint64_t gone = 0;
  queue_.windows().set(5 * kFrame, 9 * kFrame);
  for (int i = 0; i < 20'000; ++i) {
    const auto link = static_cast<LinkId>(1 + random.below(3));
    if (random.chance(0.4)) {
      queue_.push(link, frame(static_cast<std::int32_t>(random.below(4)), 1));
      ++pushed;
    } else if (const auto pick = queue_.next(); pick && random.chance(0.8)) {
      ASSERT_LT(sent[pick->link] - credited[pick->link], 5 * kFrame);
      sent[pick->link] += pick->charge();
      queue_.taken(*pick);
      ++gone;
    } else {
      credited[link] += random.below(sent[link] - credited[link] + 1);
      ASSERT_TRUE(queue_.windows().credited(link, credited[link]));
    }
    ASSERT_EQ(queue_.waiting(), pushed - gone);
    const std::uint64_t total =
        sent[1] + sent[2] + sent[3] - credited[1] - credited[2] - credited[3];
    ASSERT_EQ(queue_.windows().in_flight(), total);
    ASSERT_LT(total, 10 * kFrame);
  }
}

}  // namespace
}  // namespace stretto
