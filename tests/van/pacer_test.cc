// SPDX-License-Identifier: Apache-2.0
// What the pacer makes of a queue's windows, link by link and for all of them.
#include "van/pacer.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

class PacerTest : public testing::Test {
 protected:
  PacerTest() {
    for (LinkId link : {1U, 2U}) {
      queue_.add_link(link);
      pacer_.add_link(link, now_);
    }
  }

  void push(LinkId link, std::size_t bytes) {
    Frame frame;
    frame.header.kind = wire::Kind::kPush;
    frame.payload = Buffer::allocate(bytes);
    queue_.push(link, std::move(frame));
  }
  // Sends all that may go; how many bytes.
  std::uint64_t send() {
    std::uint64_t bytes = 0;
    pacer_.on_time(now_);
    while (const auto pick = queue_.next()) {
      const SendQueue::Pick taken = *pick;
      queue_.taken(taken);
      pacer_.on_sent(taken.link, taken.charge(), now_);
      bytes += taken.bytes;
      slices_.push_back(taken.bytes);
    }
    return bytes;
  }
  void credit(LinkId link) {
    ASSERT_TRUE(queue_.credited(link, queue_.sent(link)));
    pacer_.on_credit(link, queue_.sent(link), now_);
  }
  // A gigabit a second and 100 us, as long as there is something to send.
  void learn(LinkId link, Duration length) {
    for (const Time end = now_ + length; now_ < end;) {
      push(link, 1 << 20);
      while (queue_.waiting(link) > 0) {
        const std::uint64_t bytes = send();
        now_ += 100us + std::chrono::nanoseconds(bytes * 8);
        credit(link);
      }
    }
  }

  SendQueue queue_{1 << 20, 8 << 20};
  Pacer pacer_{queue_};
  Time now_{std::chrono::seconds(50)};
  std::vector<std::uint32_t> slices_;
};

TEST_F(PacerTest, ALinkBeginsWithASmallSliceAndIsCutAfterwards) {
  push(1, 1 << 20);
  const std::uint64_t bytes = send();
  ASSERT_GE(slices_.size(), 2U);
  EXPECT_EQ(slices_[0], Path::kProbeBytes) << "to see the round trip";
  EXPECT_LE(bytes, 128U << 10) << "until more is known, little is under way";
}

TEST_F(PacerTest, SlicesAndWindowsFollowThePath) {
  learn(1, 500ms);
  slices_.clear();
  push(1, 1 << 20);
  send();
  EXPECT_LE(queue_.under_way(1), 72U << 10) << "little more than half a millisecond";
  EXPECT_LE(slices_.back(), 24U << 10);
}

TEST_F(PacerTest, TheWindowShutsUntilTheRoundTripHasBeenSeenAnew) {
  learn(1, 500ms);
  push(1, 1 << 20);
  send();
  now_ += 3s;
  credit(1);
  slices_.clear();
  send();
  ASSERT_FALSE(slices_.empty());
  EXPECT_EQ(slices_[0], Path::kProbeBytes);
}

TEST_F(PacerTest, LinksShareTheWindowOfTheWayOut) {
  learn(1, 300ms);
  learn(2, 300ms);
  for (LinkId link : {1U, 2U}) push(link, 1 << 20);
  send();
  EXPECT_GT(queue_.under_way(1), 0U);
  EXPECT_GT(queue_.under_way(2), 0U);
  EXPECT_LE(queue_.under_way(), 128U << 10) << "not a window each";
}

TEST_F(PacerTest, ALinkThatStandsStillDoesNotHoldUpTheOther) {
  learn(1, 300ms);
  learn(2, 300ms);
  push(1, 1 << 20);
  send();
  EXPECT_GT(queue_.under_way(1), 0U);  // And link 1 never hears of it.
  std::uint64_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    push(2, 16 << 10);
    sent += send();
    now_ += 200us;
    credit(2);
  }
  EXPECT_GE(sent, 900U * (16U << 10));
}

TEST_F(PacerTest, TheLimitHoldsWhateverThePathCouldTake) {
  pacer_.set_limit(4096);
  learn(1, 100ms);
  push(1, 1 << 20);
  send();
  EXPECT_LE(queue_.under_way(1), 4096U + 1024U + 2 * wire::kHeaderBytes);
}

TEST_F(PacerTest, CreditIsAskedForOnlyOfPathsThatItPaces) {
  EXPECT_TRUE(pacer_.wants_credit(1, 1000));
  pacer_.remove_link(1);
  EXPECT_FALSE(pacer_.wants_credit(1, 1000));
  EXPECT_EQ(pacer_.find(1), nullptr);
  EXPECT_NE(pacer_.find(2), nullptr);
}

}  // namespace
}  // namespace stretto
