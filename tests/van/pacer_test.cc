// SPDX-License-Identifier: Apache-2.0
// What the pacer makes of a queue's windows, link by link and for all of them.
#include "van/pacer.h"

#include <gtest/gtest.h>

#include "tests/van/pacer_fixture.h"

namespace stretto {
namespace {

class PacerTest : public fake::PacerFixture {
 protected:
  PacerTest() {
    for (LinkId link : {1U, 2U}) {
      queue_.add_link(link);
      pacer_.add_link(link, now_);
    }
  }

  // It is long ago that the first link saw its round trip, and the second has much in flight.
  void keep_second_busy() {
    learn(1, 300ms);
    learn(2, 300ms);
    now_ += 3s;
    push(2, 1 << 20);
    send();
    credit(2);
    send();
  }

  wire::Header told(LinkId link) {
    wire::Header credit;
    pacer_.tell(link, credit);
    return credit;
  }
  void hear(LinkId link, std::uint64_t round_trip, std::uint64_t wait) {
    wire::Header credit;
    credit.version = round_trip;
    credit.base = wait;
    pacer_.hear(link, credit);
  }
};

TEST_F(PacerTest, ALinkBeginsWithASmallSliceAndIsCutAfterwards) {
  push(1, 1 << 20);
  const std::uint64_t bytes = send();
  ASSERT_GE(slices_.size(), 2U);
  EXPECT_EQ(slices_[0], Path::kProbeBytes) << "to see the round trip";
  EXPECT_LE(bytes, 128U << 10) << "until more is known, little is in flight";
}

TEST_F(PacerTest, SlicesAndWindowsFollowThePath) {
  learn(1, 500ms);
  slices_.clear();
  push(1, 1 << 20);
  send();
  EXPECT_LE(queue_.windows().in_flight(1), 72U << 10) << "little more than half a millisecond";
  EXPECT_LE(slices_.back(), 24U << 10);
}

TEST_F(PacerTest, BulkHasSlicesAndWindowsOfItsOwn) {
  learn(1, 500ms);
  slices_.clear();
  push(1, 4 << 20, true);
  send();
  now_ += 2ms;
  send();  // By now the common window knows that this link is busy.
  EXPECT_GE(slices_.back(), 80U << 10) << "about a millisecond";
  EXPECT_GE(queue_.windows().in_flight(1), 300U << 10);
  EXPECT_LE(queue_.windows().in_flight(1), 600U << 10) << "some milliseconds";
}

TEST_F(PacerTest, BulkYieldsForAWhileAfterWhatIsUrgentOnAnyPacedLink) {
  learn(1, 500ms);
  queue_.add_link(3);  // Within this host: it is not paced.
  const auto slice = [this] {
    credit(1);
    send();
    slices_.clear();
    credit(1);
    send();
    return slices_.empty() ? 0 : slices_.front();
  };
  push(1, 8 << 20, true);
  EXPECT_GE(slice(), 80U << 10);
  push(3, 64, false, 1);
  EXPECT_GE(slice(), 80U << 10) << "nobody waits there for what the host sends to others";
  push(2, 64, false, 1);
  EXPECT_LE(slice(), 24U << 10);
  EXPECT_LE(queue_.windows().in_flight(1), 72U << 10);
  now_ += RecentUrgency::kLeast;
  EXPECT_GE(slice(), 80U << 10);
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

// Both links are busy, and one wants to see its round trip anew.
TEST_F(PacerTest, ARoundTripIsSeenWhereNothingElseIsOnTheWay) {
  keep_second_busy();
  ASSERT_GT(queue_.windows().in_flight(2), 0U);
  push(1, 1 << 20);
  slices_.clear();
  EXPECT_EQ(send(), 0U) << "it waits, and so does the other";
  EXPECT_TRUE(pacer_.held_back());
  credit(2);
  send();
  ASSERT_FALSE(slices_.empty());
  EXPECT_EQ(slices_[0], Path::kProbeBytes);
}

TEST_F(PacerTest, AFarEndThatNeverTookAnythingDoesNotHoldUpTheOther) {
  learn(1, 300ms);
  push(2, 1 << 20);
  send();
  ASSERT_GT(queue_.windows().in_flight(2), 0U) << "and nothing is known of its rate";
  now_ += 3s;
  push(1, 1 << 20);
  EXPECT_GT(send(), 0U);
  EXPECT_GT(queue_.windows().in_flight(1), 0U);
}

TEST_F(PacerTest, AFarEndThatSeemsSlowHoldsUpTheOtherOnlyForAMoment) {
  learn(1, 300ms);
  push(2, 1 << 20);
  send();
  now_ += 10s;
  ASSERT_TRUE(queue_.windows().credited(2, 1));
  pacer_.on_credit(2, 1, now_);
  ASSERT_LT(pacer_.find(2)->rate(), 1.0) << "a byte in ten seconds";
  std::uint64_t sent = 0;
  for (int i = 0; i < 2000; ++i) {
    push(1, 16 << 10);
    sent += send();
    now_ += 1ms;
    credit(1);
  }
  EXPECT_GE(sent, 1800U * (16U << 10));
}

TEST_F(PacerTest, ManyLinksTakeLittleOfTheTimeForTheirProbes) {
  for (LinkId link = 3; link <= 60; ++link) {
    queue_.add_link(link);
    pacer_.add_link(link, now_);
  }
  std::uint64_t sent = 0;
  int idle = 0;
  for (int turn = 0; turn < 1000; ++turn) {  // 20 ms there and back.
    for (LinkId link = 1; link <= 60; ++link) {
      if (queue_.waiting(link) == 0) push(link, 64 << 10);
    }
    const std::uint64_t bytes = send();
    idle += bytes < 8192 ? 1 : 0;
    sent += bytes;
    now_ += 20ms;
    for (LinkId link = 1; link <= 60; ++link) credit(link);
  }
  EXPECT_LE(idle, 150) << "turns in which hardly anything but a probe went";
  EXPECT_GT(sent, 1000U * (32U << 10));
}

TEST_F(PacerTest, WhatWaitsForAQuietWayHoldsUpNobodyElse) {
  keep_second_busy();
  queue_.add_link(3);  // Within this host: it is not paced.
  push(1, 1 << 20);
  push(3, 100);
  slices_.clear();
  send();
  EXPECT_EQ(slices_, std::vector<std::uint32_t>{100});
  EXPECT_TRUE(pacer_.held_back());
  queue_.cancel(kTag);
  for (LinkId link : {1U, 2U})
    ASSERT_TRUE(queue_.windows().credited(link, queue_.windows().sent(link)));
  while (const auto pick = queue_.next()) queue_.taken(*pick);
  EXPECT_FALSE(pacer_.held_back()) << "nothing waits any more";
}

TEST_F(PacerTest, LinksShareTheWindowOfTheWayOut) {
  learn(1, 300ms);
  learn(2, 300ms);
  for (LinkId link : {1U, 2U}) push(link, 1 << 20);
  send();
  EXPECT_GT(queue_.windows().in_flight(1), 0U);
  EXPECT_GT(queue_.windows().in_flight(2), 0U);
  EXPECT_LE(queue_.windows().in_flight(), 128U << 10) << "not a window each";
}

TEST_F(PacerTest, ALinkThatStandsStillDoesNotHoldUpTheOther) {
  learn(1, 300ms);
  learn(2, 300ms);
  push(1, 1 << 20);
  send();
  EXPECT_GT(queue_.windows().in_flight(1), 0U);  // And link 1 never hears of it.
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
  EXPECT_LE(queue_.windows().in_flight(1), 4096U + 1024U + 2 * wire::kHeaderBytes);
}

TEST_F(PacerTest, OneEndTellsTheOtherWhatItHasSeen) {
  EXPECT_EQ(told(1).version, 0U);
  learn(1, 300ms);
  const std::uint64_t seen = told(1).version;
  EXPECT_GE(seen, 100'000U);
  hear(1, 50'000, 0);
  EXPECT_EQ(pacer_.find(1)->round_trip(), 50us);
  EXPECT_EQ(told(1).version, seen) << "not what it heard";
  hear(1, ~0ULL, 0);
  EXPECT_EQ(pacer_.find(1)->round_trip(), 50us) << "an absurd word is none";
  hear(77, 1, 1);
  EXPECT_EQ(told(77).version, 0U);
}

TEST_F(PacerTest, WindowsMakeUpForWhatBothLoopsWait) {
  learn(1, 300ms);
  const std::uint64_t seen = told(1).version;
  const std::uint64_t before = pacer_.find(1)->window_bytes();
  const auto more = [&] {
    const std::uint64_t bytes = pacer_.find(1)->window_bytes() - before;
    return static_cast<double>(bytes) / pacer_.find(1)->rate();
  };
  pacer_.set_own_wait(200us);
  EXPECT_EQ(told(1).base, 200'000U);
  hear(1, seen, 300'000);
  EXPECT_NEAR(more(), 500e-6, 1e-7);
  hear(1, seen, 20'000'000);
  EXPECT_NEAR(more(), 1e-3, 1e-7) << "no more, or urgent frames would wait for it";
  hear(1, seen, ~0ULL);
  EXPECT_NEAR(more(), 1e-3, 1e-7) << "an absurd word is none";
  pacer_.set_own_wait(0us);
  hear(1, seen, 0);
  EXPECT_EQ(pacer_.find(1)->window_bytes(), before);
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
