// SPDX-License-Identifier: Apache-2.0
// What the pacer makes of its share of a host's window, and what it tells the others.
#include <gtest/gtest.h>

#include "tests/van/pacer_fixture.h"

namespace stretto {
namespace {

class PacerShareTest : public fake::PacerFixture {
 protected:
  PacerShareTest() {
    queue_.add_link(kFar);
    queue_.add_link(kNear);
    pacer_.add_link(kFar, now_);
  }

  void learn() {
    PacerFixture::learn(kFar, 500ms);
    slices_.clear();
  }
  static host::WindowShare part(double part) {
    host::WindowShare share;
    share.part = part;
    share.others_here_bytes = 1 << 30;  // They use all of theirs.
    return share;
  }
  static host::WindowShare above(std::int32_t priority) {
    host::WindowShare share = part(1.0 / 32);
    share.above = priority;
    share.rest_rate = 4e6;
    share.urgent = true;
    return share;
  }

  static constexpr LinkId kFar = 1;
  static constexpr LinkId kNear = 2;
};

TEST_F(PacerShareTest, APartOfTheWindowIsUnderWay) {
  learn();
  push(kFar, 4 << 20);
  const std::uint64_t all = send();
  credit(kFar);
  pacer_.set_share(part(0.25), now_);
  const std::uint64_t quarter = send();
  EXPECT_GE(quarter, 1U);
  EXPECT_LE(quarter, all / 4 + largest_slice());
  credit(kFar);
  pacer_.set_share({}, now_);
  EXPECT_EQ(send(), all);
}

TEST_F(PacerShareTest, ASliceGoesHoweverSmallThePart) {
  learn();
  push(kFar, 4 << 20);
  pacer_.set_share(part(1e-9), now_);
  for (int i = 0; i < 10; ++i) {
    EXPECT_GE(send(), 1U);
    now_ += 1ms;
    credit(kFar);
  }
}

TEST_F(PacerShareTest, LessUrgentFrameWaitsForOtherProcess) {
  learn();
  pacer_.set_share(above(5), now_);
  push(kFar, 4 << 20);
  const std::uint64_t slice = send();
  EXPECT_GE(slice, 1U);
  EXPECT_EQ(slice, largest_slice()) << "one slice of the rest";
  credit(kFar);
  EXPECT_EQ(send(), 0U);
  EXPECT_LT(pacer_.next_look(now_), Time::max());
  push(kFar, 1000, false, 5);
  EXPECT_EQ(send(), 1000U) << "what is as urgent does not";
  now_ += std::chrono::nanoseconds(slice * 1000 / 4 + 100'000);
  credit(kFar);
  EXPECT_EQ(send(), slice) << "and the rest at its rate";
  credit(kFar);
  pacer_.set_share({}, now_);
  EXPECT_GT(send(), slice);
}

TEST_F(PacerShareTest, FrameToSameHostDoesNotWait) {
  learn();
  pacer_.set_share(above(5), now_);
  push(kFar, 4 << 20);
  send();
  push(kNear, 100'000);
  EXPECT_EQ(send(), 100'000U);
}

TEST_F(PacerShareTest, BulkUsesSmallSlicesBesideUrgentProcess) {
  learn();
  push(kFar, 8 << 20, true, 0);
  send();
  EXPECT_GE(largest_slice(), 60U << 10);
  const std::uint64_t bulk_window = queue_.windows().in_flight(kFar);
  credit(kFar);
  slices_.clear();
  host::WindowShare share;
  share.urgent = true;
  pacer_.set_share(share, now_);
  now_ += 1ms;
  send();
  EXPECT_LE(largest_slice(), 24U << 10);
  EXPECT_LE(queue_.windows().in_flight(kFar), 72U << 10);
  credit(kFar);
  pacer_.set_share({}, now_ + 998ms);
  now_ += 998ms;
  send();
  EXPECT_LE(queue_.windows().in_flight(kFar), 72U << 10) << "another may come";
  now_ += 1ms;
  credit(kFar);
  pacer_.set_share({}, now_);
  send();
  EXPECT_GE(queue_.windows().in_flight(kFar), bulk_window / 2);
}

TEST_F(PacerShareTest, ReportsWaitingPriorityAndBytesInFlight) {
  EXPECT_FALSE(pacer_.entry(now_).waiting);
  push(kNear, 1000, false, 9);
  EXPECT_FALSE(pacer_.entry(now_).waiting) << "that stays here";
  learn();
  push(kFar, 4 << 20, false, 3);
  push(kFar, 4 << 20, false, -1);
  send();
  const host::HostEntry entry = pacer_.entry(now_);
  EXPECT_TRUE(entry.waiting);
  EXPECT_EQ(entry.priority, 3);
  EXPECT_EQ(entry.here_bytes, queue_.windows().in_flight(kFar));
  now_ += 1ms;
  pacer_.on_time(now_);
  EXPECT_NEAR(pacer_.entry(now_).paths.rate, 125e6, 40e6);
}

TEST_F(PacerShareTest, TellsThatSomethingUrgentHasBeenThere) {
  push(kFar, 1000, false, 7);
  send();
  EXPECT_TRUE(pacer_.entry(now_).urgent);
  EXPECT_EQ(pacer_.entry(now_).urgent_priority, 7);
  EXPECT_FALSE(pacer_.entry(now_).waiting);
  now_ += 1s;
  EXPECT_FALSE(pacer_.entry(now_).urgent);
  push(kFar, 1000, true, 8);
  credit(kFar);
  send();
  EXPECT_FALSE(pacer_.entry(now_).urgent) << "bulk is never urgent";
}

}  // namespace
}  // namespace stretto
