// SPDX-License-Identifier: Apache-2.0
// An object of a loop belongs to the first thread that calls it, until the loop is over.
#include "common/loop_owner.h"

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

TEST(LoopOwnerDeathTest, AnotherThreadIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  LoopOwner owner;
  owner.check();
  EXPECT_DEATH(check_elsewhere(owner), "stretto bug");
}

}  // namespace
}  // namespace stretto
