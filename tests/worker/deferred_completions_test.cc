// SPDX-License-Identifier: Apache-2.0
// Operations whose callers' memory is still read when they have ended.
#include "worker/operations/deferred_completions.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(DeferredCompletions, ReleasesFreeOperationsInOrder) {
  std::vector<std::shared_ptr<Operation>> made;
  DeferredCompletions lingering;
  const Time start{};
  EXPECT_EQ(lingering.next_due(), Time::max());
  for (int i = 0; i < 3; ++i) {
    made.push_back(std::make_shared<Operation>());
    made.back()->leases = i == 1 ? 1 : 0;
    lingering.add(made.back(), {}, start, start);
  }
  EXPECT_GT(lingering.next_due(), start);
  const std::vector<DeferredCompletions::Ended> free = lingering.take_free(start);
  ASSERT_EQ(free.size(), 2U);
  EXPECT_EQ(free[0].operation, made[0]);
  EXPECT_EQ(free[1].operation, made[2]);
  EXPECT_FALSE(lingering.stuck(start + std::chrono::seconds(2)));
  EXPECT_TRUE(lingering.stuck(start + std::chrono::seconds(3)));
  made[1]->leases = 0;
  EXPECT_EQ(lingering.take_free(start).size(), 1U);
  EXPECT_TRUE(lingering.empty());
}

// A value goes to other workers over links that take their time.
TEST(DeferredCompletions, SuccessMayLingerUntilDeadline) {
  const Time start{};
  const auto stuck_after = [start](const Status& why) {
    auto operation = std::make_shared<Operation>();
    operation->leases = 1;
    DeferredCompletions lingering;
    lingering.add(operation, why, start, start + std::chrono::seconds(60));
    int seconds = 0;
    while (!lingering.stuck(start + std::chrono::seconds(seconds))) ++seconds;
    return seconds;
  };
  EXPECT_EQ(stuck_after({}), 63);
  EXPECT_EQ(stuck_after({Code::kTimeout, "late"}), 3);
}

}  // namespace
}  // namespace stretto
