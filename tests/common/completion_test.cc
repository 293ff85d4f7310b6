// SPDX-License-Identifier: Apache-2.0
// A completion ends once for all waiters; the tests of tickets and calls build on this one.
#include "common/threads/completion.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace stretto {
namespace {

TEST(Completion, TheFirstEndCounts) {
  Completion<std::string> completion;
  EXPECT_FALSE(completion.done());
  EXPECT_TRUE(completion.value().empty());
  EXPECT_TRUE(completion.end({}, "first"));
  EXPECT_FALSE(completion.end({Code::kTimeout, "late"}, "second"));
  EXPECT_TRUE(completion.wait().ok());
  EXPECT_EQ(completion.value(), "first");
}

TEST(Completion, TellsEveryoneOnceBeforeAndAfterTheEnd) {
  Completion<int> completion;
  int told = 0;
  completion.on_done([&told](const Status& status) { told += status.ok() ? 100 : 1; });
  EXPECT_EQ(completion.wait_for(1ms).code(), Code::kTimeout);
  EXPECT_TRUE(completion.end({Code::kPeerLost, "gone"}, 1));
  completion.on_done([&told](const Status& status) { told += status.ok() ? 100 : 1; });
  completion.end({}, 2);
  EXPECT_EQ(told, 2);
}

TEST(Completion, AnyLimitIsWaitedFor) {
  for (const Duration limit : {Duration::max(), Duration::max() - 1ns, Duration(24h * 365 * 292)}) {
    Completion<int> completion;
    const std::jthread other([&completion] {
      (void)completion.wait_for(10ms);
      completion.end({}, 7);
    });
    EXPECT_TRUE(completion.wait_for(limit).ok());
  }
}

TEST(Completion, AWaiterWakesAtAnEndOnAnotherThread) {
  Completion<int> completion;
  const std::jthread other([&completion] { completion.end({}, 7); });
  EXPECT_TRUE(completion.wait().ok());
  EXPECT_EQ(completion.value(), 7);
}

}  // namespace
}  // namespace stretto
