// SPDX-License-Identifier: Apache-2.0
// Estimates of the queue on the return path from credits, in virtual time.
#include "van/path/return_delay.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

class ReturnDelayTest : public testing::Test {
 protected:
  /// Receives a credit each millisecond, `delay` after its sending. The peer's clock is `ahead`.
  void receive(Duration delay, Duration length, Duration ahead = {}) {
    for (const Time end = now_ + length; now_ < end; now_ += 1ms) {
      delay_.note(sent_us(now_ + ahead - delay), now_);
    }
  }
  double queued_ms() const { return 1e3 * seconds(delay_.get()); }

  ReturnDelay delay_;
  Time now_{std::chrono::seconds(100)};
};

TEST_F(ReturnDelayTest, QueueIsDelayBeyondLeast) {
  receive(300us, 100ms);
  EXPECT_EQ(queued_ms(), 0);
  receive(4300us, 100ms);
  EXPECT_NEAR(queued_ms(), 4, 0.05);
  receive(300us, 100ms);
  EXPECT_NEAR(queued_ms(), 0, 0.05);
}

TEST_F(ReturnDelayTest, OffsetOfClocksCountsNothing) {
  for (const Duration ahead : {Duration(-3h), Duration(-1us), Duration(40min), Duration(90h)}) {
    delay_ = {};
    receive(1ms, 100ms, ahead);
    receive(3ms, 100ms, ahead);
    EXPECT_NEAR(queued_ms(), 2, 0.05);
  }
}

// A clock that is 100 ppm fast seems to gain 18 ms in three minutes.
TEST_F(ReturnDelayTest, DriftOfClocksIsForgotten) {
  for (int second = 0; second < 180; ++second) {
    receive(1ms, 1s, std::chrono::microseconds(-100 * second));
  }
  EXPECT_LE(queued_ms(), 6.1) << "of the last minute";
  receive(1ms, 61s, std::chrono::microseconds(-100 * 180));
  EXPECT_NEAR(queued_ms(), 0, 0.05);
}

TEST_F(ReturnDelayTest, AbsurdTimesCountTenMilliseconds) {
  receive(1ms, 100ms);
  for (std::uint32_t sent = 1; sent != 0; sent *= 3) {
    delay_.note(sent, now_);
    EXPECT_GE(queued_ms(), 0);
    EXPECT_LE(queued_ms(), 10);
    if (sent > 3'000'000'000U / 3) break;
  }
}

}  // namespace
}  // namespace stretto
