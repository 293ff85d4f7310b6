// SPDX-License-Identifier: Apache-2.0
// Which numbers are free, whose they are, and for how long one is given up.
#include "scheduler/migration/external_server_ids.h"

#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

class ExternalServerIdsTest : public testing::Test {
 protected:
  ExternalServerIdsTest() { config_.servers = 3; }

  void let_in(Rank number) {
    view_.members[number] = {.node = number,
                             .role = Role::kServer,
                             .rank = number % 3,
                             .address = "s:1",
                             .moved_up = number - number % 3};
  }

  Config config_ = fake::config(Role::kScheduler, -1);
  View view_;
  Time now_ = Time(1s);
  ExternalServerIds numbers_{config_};
};

TEST_F(ExternalServerIdsTest, APlaceHasTwo) {
  EXPECT_EQ(numbers_.free(1, view_, now_), 7U);
  let_in(7);
  EXPECT_EQ(numbers_.free(1, view_, now_), 10U);
  let_in(10);
  EXPECT_EQ(numbers_.free(1, view_, now_), std::nullopt);
  EXPECT_EQ(numbers_.free(0, view_, now_), 6U);
}

TEST_F(ExternalServerIdsTest, FreesGivenUpIdAfterExitOrMinute) {
  numbers_.give_up(6, now_);
  EXPECT_TRUE(numbers_.is_given_up(6, now_));
  EXPECT_EQ(numbers_.free(0, view_, now_), 9U);
  numbers_.end(6);
  EXPECT_EQ(numbers_.free(0, view_, now_), 6U);
  numbers_.give_up(6, now_);
  EXPECT_EQ(numbers_.free(0, view_, now_ + 60s), 6U);
}

TEST_F(ExternalServerIdsTest, TracksToolsToldOfEachId) {
  numbers_.tell(6, 40);
  numbers_.tell(6, 41);
  EXPECT_TRUE(numbers_.is_told(6, 40) && numbers_.is_told(6, 41));
  EXPECT_FALSE(numbers_.is_told(6, 42) || numbers_.is_told(7, 40));
  numbers_.forget(40);
  EXPECT_FALSE(numbers_.is_told(6, 40));
  numbers_.end(6);
  EXPECT_FALSE(numbers_.is_told(6, 41));
}

}  // namespace
}  // namespace stretto
