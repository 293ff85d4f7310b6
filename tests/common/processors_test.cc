// SPDX-License-Identifier: Apache-2.0
// What the kernel writes about processors.
#include "common/threads/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace stretto {
namespace {

TEST(Processors, RunnableThreadsAreTheFourthField) {
  EXPECT_EQ(runnable_in("2.50 6.00 7.37 3/113 27620\n"), 3);
  EXPECT_EQ(runnable_in("0.00 0.00 0.00 0/1 1"), 0);
}

TEST(Processors, RejectsMalformedLoad) {
  for (const char* text : {"", "2.50", "2.50 6.00 7.37", "2.50 6.00 7.37 3 27620", "a b c d/e f",
                           "1 2 3 -1/4 5", "1 2 3 /4 5"}) {
    EXPECT_EQ(runnable_in(text), std::nullopt) << text;
  }
}

TEST(Processors, AQuotaIsToldByItsPeriod) {
  EXPECT_EQ(quota_in("150000 100000\n"), 1.5);
  EXPECT_EQ(quota_in("max 100000\n"), std::nullopt);
  EXPECT_EQ(quota_in(""), std::nullopt);
  EXPECT_EQ(quota_in("100000 0\n"), std::nullopt);
  EXPECT_EQ(quota_in("50000\n", "100000\n"), 0.5);
  EXPECT_EQ(quota_in("-1\n", "100000\n"), std::nullopt);
}

TEST(Processors, OnlyThoseCountThatTheThreadMayRunOn) {
  std::thread([] {
    cpu_set_t set;
    ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    const Processors processors;
    EXPECT_LE(processors.usable(), CPU_COUNT(&set));
    EXPECT_GT(processors.usable(), 0);
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_LE(processors.usable(), 1);
  }).join();
}

}  // namespace
}  // namespace stretto
