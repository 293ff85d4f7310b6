// SPDX-License-Identifier: Apache-2.0
// Which process owns a guard, over forks of forks.
#include "common/process/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace stretto {
namespace {

/// The exit status of a child process that runs `program`; -1 if a signal killed it.
template <typename Program>
int ended(Program program) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(program());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkGuard, AChildsChildIsNoOwnerEither) {
  const ForkGuard home;
  EXPECT_TRUE(home.is_here());
  EXPECT_EQ(ended([&home] {
              if (home.is_here()) return 1;
              const ForkGuard own;
              if (!own.is_here()) return 2;
              return ended([&home, &own] { return home.is_here() || own.is_here() ? 3 : 0; });
            }),
            0);
  EXPECT_TRUE(home.is_here());
}

TEST(ForkGuard, ErrorNamesObjectAndOperation) {
  const Status status = used_after_fork("Worker", "barrier");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.operation(), "barrier");
  EXPECT_NE(status.cause().find("make a Worker of this process"), std::string::npos);
}

}  // namespace
}  // namespace stretto
