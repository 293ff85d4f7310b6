// SPDX-License-Identifier: Apache-2.0
// The windows that the pacer sets, for single links and for all together.
#include "van/pacing/pacer.h"

#include <gtest/gtest.h>

#include <random>

#include "common/clock.h"
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

  wire::Header told(LinkId link) {
    wire::Header credit;
    pacer_.tell(link, credit, now_);
    return credit;
  }
  void hear(LinkId link, std::uint64_t grant, std::uint64_t wait, bool urgent = false,
            Duration queued = {}) {
    wire::Header credit;
    credit.version = grant;
    credit.base = wait;
    credit.spread = sent_us(now_ - queued);
    credit.flags = urgent ? wire::kUrgent : 0;
    pacer_.hear(link, credit, now_);
  }
  // The bytes in flight on link 1, with endless data and no credit.
  std::uint64_t filled() {
    push(1, 16 << 20);
    for (int i = 0; i < 5; ++i, now_ += 1ms) send();
    return queue_.windows().in_flight(1);
  }
};

TEST_F(PacerTest, UnknownLinkHasLittleInFlight) {
  push(1, 1 << 20);
  EXPECT_LE(send(), 128U << 10);
}

TEST_F(PacerTest, DataLeavesInThroughputMode) {
  learn(1, 500ms);
  slices_.clear();
  const std::uint64_t bytes = filled();
  EXPECT_GE(slices_.back(), 60U << 10) << "of the rate that learn() reaches";
  EXPECT_GE(bytes, 240U << 10);
  EXPECT_LE(bytes, 480U << 10) << "some milliseconds";
}

TEST_F(PacerTest, UrgentFrameBeginsLatencyMode) {
  learn(1, 500ms);
  push(1, 1000, false, 1);
  send();
  credit(1);
  slices_.clear();
  EXPECT_LE(filled(), 72U << 10) << "little more than half a millisecond";
  EXPECT_LE(slices_.back(), 24U << 10);
}

TEST_F(PacerTest, ReceiverOfUrgentDataSlowsItsSenders) {
  learn(1, 500ms);
  EXPECT_EQ(told(1).flags & wire::kUrgent, 0);
  pacer_.on_data(1, 4096, 5, true, now_);
  EXPECT_NE(told(2).flags & wire::kUrgent, 0) << "each of its senders is told";
  hear(2, 0, 0, true);
  EXPECT_LE(filled(), 128U << 10);
  now_ += 1s;
  credit(1);
  EXPECT_GE(filled(), 240U << 10);
}

TEST_F(PacerTest, GrantBoundsWindowAndSlices) {
  learn(1, 500ms);
  hear(1, 40'000, 0);
  credit(1);
  slices_.clear();
  const double product = 1.25 * pacer_.find(1)->rate() * seconds(pacer_.find(1)->round_trip());
  EXPECT_LE(static_cast<double>(filled()), 40e3 + product + (64 << 10) / 2);
  EXPECT_LE(largest_slice(), 72U << 10);
  hear(1, ~0ULL, 0);
  credit(1);
  EXPECT_GE(filled(), 240U << 10);
}

// Credits wait 3 ms behind their sender's data: the window grows by that much.
TEST_F(PacerTest, WindowCoversQueueOfCredits) {
  learn(1, 500ms);
  hear(1, 0, 0);
  credit(1);
  const std::uint64_t before = filled();
  for (int i = 0; i < 100; ++i) hear(1, 0, 0, false, 3ms);
  credit(1);
  const double more = 1.25 * pacer_.find(1)->rate() * 3e-3;
  EXPECT_NEAR(static_cast<double>(filled() - before), more, more / 4);
}

// Link 1's peer reads nothing: the pacer schedules further looks until link 2 may send.
TEST_F(PacerTest, SlowFarEndHoldsNoOtherLink) {
  learn(1, 500ms);
  learn(2, 500ms);
  now_ += 5s;
  push(2, 1 << 20, false, -5);
  push(1, 4 << 20);
  send();
  const std::uint64_t before = queue_.windows().in_flight(2);  // Of the frame that waited longest.
  const Time begun = now_;
  while (queue_.windows().in_flight(2) == before) {
    const Time next = pacer_.next_look(now_);
    ASSERT_LT(next, begun + 1s);
    now_ = std::max(next, now_ + 1us);
    send();
  }
  EXPECT_LE(now_ - begun, 100ms);
}

// A peer may send any credits, early, late or twice: data flows, and windows keep their limit.
TEST_F(PacerTest, ForgedCreditsStopNoLink) {
  std::mt19937_64 random(7);
  pacer_.set_limit(1 << 20);
  learn(1, 500ms);
  for (int i = 0; i < 2000; ++i) {
    wire::Header told;
    told.version = random() >> random() % 64;
    told.base = random() >> random() % 64;
    told.spread = static_cast<std::uint32_t>(random());
    told.flags = random() % 2 == 0 ? wire::kUrgent : 0;
    pacer_.hear(1, told, now_);
    if (queue_.waiting(1) == 0) push(1, 4 << 20);
    now_ += std::chrono::microseconds(random() % 3000);
    credit(1);
    const std::uint64_t sent = queue_.windows().sent(1);
    send();
    EXPECT_GT(queue_.windows().sent(1), sent);
    EXPECT_LE(queue_.windows().in_flight(1), 1U << 20);
  }
}

TEST_F(PacerTest, TinyGrantStopsNoLink) {
  learn(1, 500ms);
  hear(1, 1, 0);
  for (int i = 0; i < 10; ++i) {
    push(1, 1 << 20);
    credit(1);
    EXPECT_GT(send(), 0U);
    now_ += 1ms;
  }
}

TEST_F(PacerTest, AckReportsGrantedRate) {
  EXPECT_EQ(told(1).version, 0U);
  for (int i = 0; i < 1000; ++i, now_ += 134us)
    pacer_.on_data(i % 2 == 0 ? 1 : 2, 16'000, 0, false, now_);
  EXPECT_NEAR(static_cast<double>(told(1).version), 185e3, 40e3) << "of 119 MB/s";
}

// Both links were busy; then only the second is, and gets the whole uplink at once.
TEST_F(PacerTest, LastLinkOfRoundGetsFullWindow) {
  for (int i = 0; i < 200; ++i) {
    for (LinkId link : {1U, 2U}) push(link, 256 << 10);
    const std::uint64_t bytes = send();
    now_ += 100us + std::chrono::nanoseconds(bytes * 8);
    for (LinkId link : {1U, 2U}) credit(link);
  }
  queue_.cancel(kTag);
  EXPECT_LT(pacer_.find(1)->rate(), 80e6);
  EXPECT_GE(filled(), 240U << 10);
}

TEST_F(PacerTest, LatencyModeLastsForAWhile) {
  learn(1, 500ms);
  queue_.add_link(3);  // Within this host: not paced.
  const auto slice = [this] {
    credit(1);
    send();
    slices_.clear();
    credit(1);
    send();
    return slices_.empty() ? 0 : slices_.front();
  };
  push(1, 8 << 20, true);
  EXPECT_GE(slice(), 60U << 10);
  push(3, 64, false, 1);
  EXPECT_GE(slice(), 60U << 10) << "nothing waits there for what the host sends to others";
  push(2, 64, false, 1);
  EXPECT_LE(slice(), 24U << 10);
  EXPECT_LE(queue_.windows().in_flight(1), 72U << 10);
  now_ += UrgencyDetector::kLeast;
  EXPECT_GE(slice(), 60U << 10);
}

TEST_F(PacerTest, UnresponsiveLinkDoesNotBlockOtherLink) {
  learn(1, 300ms);
  push(2, 1 << 20);
  send();
  ASSERT_GT(queue_.windows().in_flight(2), 0U) << "and nothing is known of its rate";
  now_ += 3s;
  push(1, 1 << 20);
  EXPECT_GT(send(), 0U);
  EXPECT_GT(queue_.windows().in_flight(1), 0U);
}

TEST_F(PacerTest, SlowPeerDelaysOtherLinkBriefly) {
  learn(1, 300ms);
  push(2, 1 << 20);
  send();
  now_ += 10s;
  ASSERT_TRUE(queue_.windows().credited(2, 1));
  pacer_.on_credit(2, 1, now_, [] { return std::nullopt; });
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

TEST_F(PacerTest, LinksShareTheWindowOfTheUplink) {
  learn(1, 300ms);
  learn(2, 300ms);
  push(2, 16 << 20);
  filled();
  EXPECT_GT(queue_.windows().in_flight(1), 0U);
  EXPECT_GT(queue_.windows().in_flight(2), 0U);
  EXPECT_LE(queue_.windows().in_flight(), 700U << 10) << "not a window each";
}

TEST_F(PacerTest, ALinkThatStandsStillDoesNotHoldUpTheOther) {
  learn(1, 300ms);
  learn(2, 300ms);
  push(1, 1 << 20);
  send();
  EXPECT_GT(queue_.windows().in_flight(1), 0U);  // Link 1 never gets a credit for it.
  std::uint64_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    push(2, 16 << 10);
    sent += send();
    now_ += 200us;
    credit(2);
  }
  EXPECT_GE(sent, 900U * (16U << 10));
}

TEST_F(PacerTest, LimitBoundsBytesInFlight) {
  pacer_.set_limit(4096);
  learn(1, 100ms);
  push(1, 1 << 20);
  send();
  EXPECT_LE(queue_.windows().in_flight(1), 4096U + 1024U + 2 * wire::kHeaderBytes);
}

TEST_F(PacerTest, WindowsMakeUpForLoopsThatWait) {
  learn(1, 300ms);
  const std::uint64_t before = filled();
  pacer_.set_own_wait(700us);
  EXPECT_EQ(told(1).base, 700'000U);
  hear(1, 0, 300'000);
  credit(1);
  const auto more = static_cast<double>(filled() - before);
  EXPECT_NEAR(more / pacer_.find(1)->rate(), 1e-3, 1.1e-3) << "to a slice";
  EXPECT_GT(more, 0);
  hear(1, 0, ~0ULL);
  credit(1);
  EXPECT_GE(filled(), before) << "an absurd word is none";
}

TEST_F(PacerTest, CreditIsAskedForOnlyOfPathsThatItPaces) {
  EXPECT_TRUE(pacer_.wants_credit(1, 32 << 10));
  pacer_.remove_link(1);
  EXPECT_FALSE(pacer_.wants_credit(1, 32 << 10));
  EXPECT_EQ(pacer_.find(1), nullptr);
  EXPECT_NE(pacer_.find(2), nullptr);
}

}  // namespace
}  // namespace stretto
