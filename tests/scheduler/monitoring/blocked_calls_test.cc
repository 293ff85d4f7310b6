// SPDX-License-Identifier: Apache-2.0
// A waiting worker is told only of workers that wait in other calls.
#include "scheduler/monitoring/blocked_calls.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(BlockedCallsTest, ReportsWorkersBlockedElsewhere) {
  BlockedCalls workers;
  workers.heard(0, "push_pull 'x'");
  EXPECT_EQ(workers.elsewhere(0), "");
  workers.heard(1, "broadcast 'y'");
  workers.heard(2, "");
  EXPECT_EQ(workers.elsewhere(0), "worker 1 waits in broadcast 'y'");
  EXPECT_EQ(workers.elsewhere(1), "worker 0 waits in push_pull 'x'");
  EXPECT_EQ(workers.elsewhere(2), "");
  EXPECT_EQ(workers.elsewhere(3), "");
}

TEST(BlockedCallsTest, MovesWorkerToItsLatestCall) {
  BlockedCalls workers;
  for (Rank rank = 0; rank < 5; ++rank) workers.heard(rank, "push_pull 'x'");
  workers.heard(1, "barrier");
  EXPECT_EQ(workers.elsewhere(1), "worker 0 and 3 more wait in push_pull 'x'");
  workers.left(0);
  workers.heard(2, "");
  EXPECT_EQ(workers.elsewhere(1), "worker 3 and 1 more wait in push_pull 'x'");
  workers.heard(1, "push_pull 'x'");
  EXPECT_EQ(workers.elsewhere(3), "");
}

TEST(BlockedCallsTest, AMessageStaysSmall) {
  BlockedCalls workers;
  for (Rank rank = 0; rank < 9; ++rank) workers.heard(rank, std::string(1, char('a' + rank)));
  EXPECT_EQ(workers.elsewhere(0), "worker 1 waits in b, worker 2 waits in c, worker 3 waits in d");
  workers.heard(1, std::string(100'000, 'x'));
  EXPECT_LT(workers.elsewhere(8).size(), 4000U);
}

}  // namespace
}  // namespace stretto
