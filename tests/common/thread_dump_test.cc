// SPDX-License-Identifier: Apache-2.0
// A line for each thread of this process.
#include "common/threads/thread_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

namespace stretto {
namespace {

using testing::HasSubstr;

TEST(ThreadsInWordsTest, EachThreadHasALine) {
  EXPECT_THAT(threads_in_words(), HasSubstr("thread " + std::to_string(::getpid()) + " "));
  EXPECT_THAT(threads_in_words(), HasSubstr(": R (running)"));
}

TEST(ThreadsInWordsTest, ThereIsALimit) {
  std::latch end(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 80; ++i) threads.emplace_back([&end] { end.wait(); });
  const std::string text = threads_in_words();
  end.count_down();
  EXPECT_EQ(std::ranges::count(text, '\n'), 65);
  EXPECT_TRUE(text.ends_with("and more\n"));
}

}  // namespace
}  // namespace stretto
