// SPDX-License-Identifier: Apache-2.0
// Identifies this process, and tells it from other processes with the same pid.
#include "van/host_window/process_id.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace stretto::host {
namespace {

TEST(ProcessMark, TellsProcessesOfOneNumberApart) {
  const ProcessMark mine = own_mark();
  EXPECT_EQ(mine.owner >> 32, static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(life_of(mine), Life::kAlive);
  EXPECT_EQ(life_of({.owner = mine.owner + 1, .space = mine.space}), Life::kGone);
}

TEST(ProcessMark, ImpossibleProcessIdIsGone) {
  const std::uint64_t space = own_mark().space;
  EXPECT_EQ(life_of({.owner = 0, .space = space}), Life::kGone);
  // Pids end at 2^22.
  EXPECT_EQ(life_of({.owner = std::uint64_t{1} << 60, .space = space}), Life::kGone);
}

TEST(ProcessMark, OfAnotherContainerIsUnknown) {
  const ProcessMark mine = own_mark();
  EXPECT_EQ(life_of({.owner = mine.owner, .space = mine.space + 1}), Life::kUnknown);
}

}  // namespace
}  // namespace stretto::host
