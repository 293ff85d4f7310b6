// SPDX-License-Identifier: Apache-2.0
// Which of many events are logged.
#include "common/logged_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

TEST(LoggedCount, PicksPowersOfTwo) {
  LoggedCount count;
  std::vector<std::uint64_t> logged;
  for (int i = 0; i < 100; ++i) {
    if (count.add()) logged.push_back(count.events());
  }
  EXPECT_THAT(logged, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64));
  EXPECT_EQ(count.events(), 100U);
}

}  // namespace
}  // namespace stretto
