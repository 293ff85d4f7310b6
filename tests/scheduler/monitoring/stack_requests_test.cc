// SPDX-License-Identifier: Apache-2.0
// Who asks gets what the member says next, or why it says nothing.
#include "scheduler/monitoring/stack_requests.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(StackRequestsTest, IsAskedForOnceAndServesAllForAWhile) {
  StackRequests stacks;
  Time now{1h};
  EXPECT_FALSE(stacks.wanted(3));
  stacks.heard(3, "unasked", now);
  EXPECT_EQ(*stacks.ask(3, now), "");
  EXPECT_TRUE(stacks.wanted(3));
  stacks.heard(3, "", now);
  stacks.heard(3, "thread 1", now);
  EXPECT_FALSE(stacks.wanted(3));
  stacks.heard(3, "late", now);
  EXPECT_EQ(*stacks.ask(3, now + 1s), "thread 1");
  EXPECT_EQ(*stacks.ask(3, now + 3s), "") << "that was before";
  EXPECT_TRUE(stacks.wanted(3));
}

TEST(StackRequestsTest, TimesOutUnansweredRequest) {
  StackRequests stacks;
  Time now{1h};
  EXPECT_TRUE(stacks.ask(3, now).ok());
  EXPECT_TRUE(stacks.ask(3, now + 5s).ok());
  EXPECT_EQ(stacks.ask(3, now + 6s).status().code(), Code::kTimeout);
  EXPECT_FALSE(stacks.wanted(3));
}

TEST(StackRequestsTest, ThereIsALimit) {
  StackRequests stacks;
  const Time now{1h};
  for (NodeId node = 1; node <= StackRequests::kMost; ++node)
    EXPECT_TRUE(stacks.ask(node, now).ok());
  EXPECT_EQ(stacks.ask(100, now).status().code(), Code::kResource);
  stacks.left(1);
  EXPECT_TRUE(stacks.ask(100, now).ok());
  EXPECT_TRUE(stacks.ask(101, now + 6s).ok()) << "those who were given up count no more";
}

}  // namespace
}  // namespace stretto
