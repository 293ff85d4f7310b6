// SPDX-License-Identifier: Apache-2.0
// Work for a disk is done in order, and all of it.
#include "checkpoint/disk_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stretto::checkpoint {
namespace {

TEST(ThreadDiskExecutor, DoesAllInOrderBeforeItEnds) {
  std::vector<int> done;
  std::thread::id where;
  {
    const std::unique_ptr<ThreadDiskExecutor> thread = ThreadDiskExecutor::start().or_exit();
    for (int i = 0; i < 100; ++i) {
      thread->post([&done, &where, i] {
        done.push_back(i);
        where = std::this_thread::get_id();
      });
    }
  }
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(InlineDiskExecutor, DoesItNow) {
  InlineDiskExecutor at_once;
  bool done = false;
  at_once.post([&done] { done = true; });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace stretto::checkpoint
