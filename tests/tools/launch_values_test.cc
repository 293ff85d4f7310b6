// SPDX-License-Identifier: Apache-2.0
// Values of flags.
#include <gtest/gtest.h>

#include "tools/launch/plan/values.h"

namespace stretto::launch {
namespace {

TEST(LaunchValues, RefusedNumbersLeaveTheResult) {
  std::uint32_t number = 7;
  EXPECT_EQ(read_number("-x", "9", 8, number).cause(),
            "-x is '9', wanted a whole number from 1 to 8");
  EXPECT_EQ(number, 7u);
  EXPECT_TRUE(read_number("-x", "8", 8, number).ok());
  EXPECT_EQ(number, 8u);
}

TEST(LaunchValues, RangesHaveOneNumberOrTwo) {
  std::uint32_t least = 9;
  std::uint32_t most = 0;
  EXPECT_TRUE(read_range("-x", "4", 8, least, most).ok());
  EXPECT_EQ(least, 0u);
  EXPECT_EQ(most, 4u);
  EXPECT_TRUE(read_range("-x", "2:8", 8, least, most).ok());
  EXPECT_EQ(least, 2u);
  EXPECT_EQ(most, 8u);
  EXPECT_FALSE(read_range("-x", "3:2", 8, least, most).ok());
}

TEST(LaunchValues, TimesHaveUnits) {
  std::optional<Duration> time;
  EXPECT_TRUE(read_time("-x", "2m", time).ok());
  EXPECT_EQ(time, std::chrono::minutes(2));
  EXPECT_TRUE(read_time("-x", "auto", time).ok());
  EXPECT_EQ(time, Duration::zero());
  EXPECT_FALSE(read_time("-x", "2d", time).ok());
  Duration seconds{};
  EXPECT_FALSE(read_seconds("-x", "-1", 0, seconds).ok());
}

}  // namespace
}  // namespace stretto::launch
