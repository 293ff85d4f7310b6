// SPDX-License-Identifier: Apache-2.0
// What endpoints can send together, by what they tell that was taken.
#include "van/host_window/host_rate.h"

#include <gtest/gtest.h>

#include <limits>

namespace stretto::host {
namespace {

constexpr std::uint64_t kMega = 1'000'000;

class HostRateTest : public testing::Test {
 protected:
  HostEntry told(std::size_t seat, std::uint64_t taken) const {
    HostEntry entry{.alive_at = now_};
    entry.taken_bytes = taken;
    entry.seat = seat;
    return entry;
  }
  void note(const std::vector<HostEntry>& others, std::uint64_t own) {
    rate_.note(others, own, now_);
    now_ += 20ms;
  }

  HostRate rate_;
  Time now_{std::chrono::hours(1)};
};

TEST_F(HostRateTest, IsNotKnownAtFirst) {
  EXPECT_EQ(rate_.get(), 0);
  note({told(1, 5 * kMega)}, 7 * kMega);
  EXPECT_EQ(rate_.get(), 0) << "nobody knows since when";
}

TEST_F(HostRateTest, IsThatOfAllTogether) {
  note({told(1, 5 * kMega)}, 7 * kMega);
  note({told(1, 6 * kMega)}, 8 * kMega);
  EXPECT_NEAR(rate_.get(), 100e6, 1);
  note({told(1, 6 * kMega)}, 9 * kMega);
  EXPECT_NEAR(rate_.get(), 100e6, 1) << "they could have had more";
}

TEST_F(HostRateTest, CountsOnlyProcessesSeenBefore) {
  note({told(1, 5 * kMega)}, 0);
  note({told(1, 1 * kMega), told(2, 9 * kMega)}, kMega);  // Another has the first one's seat.
  EXPECT_NEAR(rate_.get(), 50e6, 1);
}

TEST_F(HostRateTest, AnyNumberIsCut) {
  note({told(1, 0), told(64, 0)}, 0);
  note({told(1, std::numeric_limits<std::uint64_t>::max()), told(64, 1)}, 0);
  EXPECT_LE(rate_.get(), 1e12);
}

}  // namespace
}  // namespace stretto::host
