// SPDX-License-Identifier: Apache-2.0
// A launcher's words, written and read.
#include "common/launch_protocol/exit_lines.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(MemberExit, IsReadAsItWasWritten) {
  for (const Role role : {Role::kScheduler, Role::kServer, Role::kWorker}) {
    for (const std::uint32_t rank : {0U, 7U, 4'294'967'295U}) {
      const MemberExit end{role, rank};
      EXPECT_EQ(member_end_named(line_of(end)), end) << line_of(end);
    }
  }
  EXPECT_EQ(line_of({Role::kWorker, 3}), "worker 3 has ended");
}

TEST(MemberExit, OtherLinesAreNone) {
  for (const std::string_view line :
       {"worker has ended", "worker 1x has ended", "worker -1 has ended", "worker1 has ended",
        "worker 99999999999 has ended", "endpoint 1 has ended", "worker  has ended", " has ended",
        "", "worker 1 ended"}) {
    EXPECT_EQ(member_end_named(line), std::nullopt) << line;
  }
}

}  // namespace
}  // namespace stretto
