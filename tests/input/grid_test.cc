// SPDX-License-Identifier: Apache-2.0
// Rungs, and what limits that contradict one another become.
#include "input/tuning/grid.h"

#include <gtest/gtest.h>

namespace stretto::input {
namespace {

TEST(Grid, DoublesFromEndToEnd) {
  const Grid grid({});
  EXPECT_EQ(grid.depths(), 8);
  EXPECT_EQ(grid.sizes(), 11);
  EXPECT_EQ(grid.knobs({0, 0}), (Knobs{1, 16 * 1024}));
  EXPECT_EQ(grid.knobs({7, 10}), (Knobs{128, 16 * 1024 * 1024}));
  EXPECT_EQ(grid.knobs(grid.first()), (Knobs{8, 256 * 1024}));
  EXPECT_FALSE(grid.contains({8, 0}));
  EXPECT_FALSE(grid.contains({0, -1}));
}

TEST(Grid, EndsNeedNotBePowersOfTwo) {
  TunerLimits limits;
  limits.least = {3, 100};
  limits.most = {12, 100};
  const Grid grid(limits);
  EXPECT_EQ(grid.depths(), 4);  // 3, 4, 8, 12.
  EXPECT_EQ(grid.sizes(), 1);
  EXPECT_EQ(grid.knobs({3, 0}).depth, 12U);
  EXPECT_EQ(grid.nearest({7, 5}), (Point{1, 0}));
  EXPECT_EQ(grid.nearest({1, 1}), (Point{0, 0}));
}

TEST(Grid, PermitsSettingsWithinMemory) {
  TunerLimits limits;
  limits.memory_bytes = 1 << 20;
  const Grid grid(limits);
  EXPECT_TRUE(grid.permits(grid.nearest({4, 256 * 1024})));
  EXPECT_FALSE(grid.permits(grid.nearest({8, 256 * 1024})));
  EXPECT_EQ(grid.knobs(grid.first()), (Knobs{4, 256 * 1024}));
}

TEST(Grid, MendsLimitsThatContradictOneAnother) {
  TunerLimits limits;
  limits.least = {0, 0};
  limits.most = {0, 0};
  limits.memory_bytes = 0;
  const Grid grid(limits);
  EXPECT_EQ(grid.knobs(grid.first()), (Knobs{1, 1}));
  EXPECT_TRUE(grid.permits(grid.first())) << "something must be possible";
  limits.least = {1000, 1000};
  EXPECT_EQ(Grid(limits).knobs({0, 0}), (Knobs{1000, 1000}));
}

}  // namespace
}  // namespace stretto::input
