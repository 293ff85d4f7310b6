// SPDX-License-Identifier: Apache-2.0
// Whose shares rounds waited for.
#include "server/monitoring/straggler_time.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(StragglerTime, TimeOfPartsThatWaitSideBySideCountsOnce) {
  using namespace std::chrono_literals;
  const Time start{};
  StragglerTime held;
  held.resize(2);
  EXPECT_TRUE(held.note(1, start + 1s, start + 4s));
  EXPECT_TRUE(held.note(1, start + 2s, start + 5s));
  EXPECT_FALSE(held.note(0, start + 2s, start + 5s)) << "it has been counted";
  EXPECT_EQ(held.of(1), 4s);
  EXPECT_EQ(held.of(0), 0s);
  EXPECT_EQ(held.workers(), 2U);
}

}  // namespace
}  // namespace stretto
