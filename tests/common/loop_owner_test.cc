// SPDX-License-Identifier: Apache-2.0
// An object of a loop belongs to the first thread that calls it, until the loop is over.
#include "common/threads/loop_owner.h"

#include <gtest/gtest.h>

#include <thread>

namespace stretto {
namespace {

void check_elsewhere(LoopOwner& owner) {
  std::thread([&owner] { owner.check(); }).join();
}

TEST(LoopOwner, IsTheFirstThreadThatCalls) {
  LoopOwner owner;
  check_elsewhere(owner);
  owner.end();
  owner.check();
  check_elsewhere(owner);
}

TEST(LoopOwner, CreatorMayUseObjectBeforeLoopStarts) {
  LoopOwner owner;
  owner.check_if_owned();
  check_elsewhere(owner);  // Its loop's thread.
}

TEST(LoopOwnerDeathTest, AnotherThreadIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LoopOwner owner;
  owner.check();
  EXPECT_DEATH(check_elsewhere(owner), "stretto bug");
  EXPECT_DEATH(std::thread([&owner] { owner.check_if_owned(); }).join(), "stretto bug");
}

}  // namespace
}  // namespace stretto
