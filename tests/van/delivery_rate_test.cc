// SPDX-License-Identifier: Apache-2.0
// Delivery rates, in virtual time.
#include "van/path/delivery_rate.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

constexpr double kRate = 125e6;

class DeliveryRateTest : public testing::Test {
 protected:
  /// Sends and delivers without a pause, in clumps of `clump` bytes; `more`: more data is queued.
  void deliver(Duration length, bool more = true, std::uint64_t clump = 32'000) {
    for (const Time end = now_ + length; now_ < end;) {
      rate_.on_sent(idle_, more, now_);
      idle_ = false;
      now_ += std::chrono::nanoseconds(clump * 8);
      taken_ += clump;
      rate_.on_taken(taken_, false, 100us, now_);
    }
  }
  void pause(Duration length) {
    rate_.on_taken(taken_, true, 100us, now_);
    idle_ = true;
    now_ += length;
  }

  DeliveryRate rate_{500ms};
  Time now_{std::chrono::hours(10)};  // Far from the epoch.
  std::uint64_t taken_ = 0;
  bool idle_ = true;
};

TEST_F(DeliveryRateTest, UnknownUntilAnIntervalEnds) {
  EXPECT_EQ(rate_.get(), 0);
  deliver(5ms);
  EXPECT_NEAR(rate_.get(), kRate, 0.1 * kRate);
}

// An interval of 10 ms would hold one clump too many or too few.
TEST_F(DeliveryRateTest, ClumpsChangeLittle) {
  deliver(3s, true, 500'000);
  EXPECT_NEAR(rate_.get(), kRate, 0.08 * kRate);
}

TEST_F(DeliveryRateTest, PausesDoNotCount) {
  for (int i = 0; i < 200; ++i) {
    deliver(5ms);
    pause(20ms);
  }
  EXPECT_NEAR(rate_.get(), kRate, 0.1 * kRate);
}

TEST_F(DeliveryRateTest, LittleDemandLowersNothing) {
  deliver(1s);
  for (int i = 0; i < 1000; ++i) {
    deliver(100us, false);
    now_ += 1ms;  // Busy as far as is known, and slow.
  }
  EXPECT_NEAR(rate_.get(), kRate, 0.1 * kRate);
}

// A link that sends without a credit and then idles does not postpone the end of the interval.
TEST_F(DeliveryRateTest, IdleWithoutCreditCountsOnce) {
  for (int i = 0; i < 3; ++i) {
    rate_.on_sent(true, true, now_);
    now_ += 200ms;
  }
  idle_ = false;
  deliver(300ms);
  EXPECT_NEAR(rate_.get(), kRate, 0.1 * kRate);
}

}  // namespace
}  // namespace stretto
