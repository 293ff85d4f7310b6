// SPDX-License-Identifier: Apache-2.0
// Detection of processes on one machine, and of names of one machine.
#include "common/network/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stretto {
namespace {

// The id that a child computes, optionally in its own network namespace; 0 on failure.
std::uint64_t of_a_child(bool own_network) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    std::uint64_t found = 0;
    if (!own_network || ::unshare(CLONE_NEWNET) == 0) found = this_machine();
    ::_exit(::write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  std::uint64_t found = 0;
  EXPECT_EQ(::read(ends[0], &found, sizeof found), static_cast<ssize_t>(sizeof found));
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return found;
}

// Children come first: a process computes its id only once.
TEST(Machine, IsThatOfTheNetwork) {
  const std::uint64_t apart = of_a_child(true);
  EXPECT_NE(this_machine(), 0U);
  EXPECT_EQ(of_a_child(false), this_machine());
  EXPECT_NE(apart, this_machine()) << "0 where no network namespace may be made";
}

TEST(Machine, NamesAreToldApart) {
  EXPECT_EQ(machine_named("rack 1"), machine_named("rack 1"));
  EXPECT_NE(machine_named("rack 1"), machine_named("rack 2"));
  EXPECT_NE(machine_named(""), 0U);
  EXPECT_NE(machine_named("a"), machine_named("b"));
}

}  // namespace
}  // namespace stretto
