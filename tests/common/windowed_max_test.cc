// SPDX-License-Identifier: Apache-2.0
// What is remembered of values, and for how long.
#include "common/windowed_max.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(WindowedMax, ForgetsMaximumOutsideWindow) {
  WindowedMax greatest(100ms);
  const Time start{std::chrono::seconds(5)};
  greatest.add(10, start);
  greatest.add(3, start + 50ms);
  EXPECT_EQ(greatest.get(), 10);
  greatest.add(4, start + 120ms);
  EXPECT_EQ(greatest.get(), 10) << "still of the span before";
  greatest.add(5, start + 230ms);
  EXPECT_EQ(greatest.get(), 5);
  greatest.add(1, start + 900ms);
  EXPECT_EQ(greatest.get(), 1) << "after a long silence only what is new counts";
}

}  // namespace
}  // namespace stretto
