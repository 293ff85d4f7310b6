// SPDX-License-Identifier: Apache-2.0
// Who waits for a place in a job, and for how long.
#include "scheduler/sessions/join_queue.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(JoinQueue, ExpiresJoinAfterWaitTimeout) {
  JoinQueue room(10s);
  const Time begin = Time(1s);
  EXPECT_TRUE(room.wait(7, {.rank = 4}, begin));
  EXPECT_TRUE(room.wait(8, {.rank = 5}, begin + 5s));
  EXPECT_TRUE(room.wait(7, {.rank = 4}, begin + 9s)) << "to ask again is not to begin again";
  ASSERT_EQ(room.guests().size(), 2U);
  EXPECT_EQ(room.guests().front().link, 7U) << "in the order in which they came";
  EXPECT_EQ(room.guests().front().hello.rank, 4);
  EXPECT_FALSE(room.wait(7, {.rank = 4}, begin + 10s));
  ASSERT_EQ(room.guests().size(), 1U);
  room.remove(8);
  EXPECT_TRUE(room.guests().empty());
}

}  // namespace
}  // namespace stretto
