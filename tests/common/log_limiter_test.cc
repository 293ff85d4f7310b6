// SPDX-License-Identifier: Apache-2.0
// Said at once, and then seldom.
#include "common/log_limiter.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(LogLimiter, IsSaidAtOnceAndThenOnceAMinute) {
  LogLimiter complaint;
  const Time start{};
  EXPECT_TRUE(complaint.due(start));
  EXPECT_FALSE(complaint.due(start + LogLimiter::kEvery - 1ns));
  EXPECT_TRUE(complaint.due(start + LogLimiter::kEvery));
  EXPECT_FALSE(complaint.due(start + LogLimiter::kEvery + 1s));
}

}  // namespace
}  // namespace stretto
