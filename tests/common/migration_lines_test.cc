// SPDX-License-Identifier: Apache-2.0
// The lines between scheduler and launcher about servers that must be started.
#include "common/launch_protocol/migration_lines.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(MigrationOrder, LineNamesServersAndTargetHost) {
  const MigrationOrder anywhere{.server = 2, .from = 0};
  const MigrationOrder there{.server = 12, .from = 3, .host = "node1.example"};
  EXPECT_EQ(line_of(anywhere), "server 2 is to have the place of server 0");
  EXPECT_EQ(line_of(there), "server 12 is to have the place of server 3 on node1.example");
  for (const MigrationOrder& order : {anywhere, there})
    EXPECT_EQ(move_order_in(line_of(order)), order);
}

TEST(MigrationOrder, ALineSaysWhyAServerCannotBeStarted) {
  const StartRefusal refusal{.server = 2, .why = "there is no host 'x'"};
  EXPECT_EQ(line_of(refusal), "server 2 cannot be started: there is no host 'x'");
  EXPECT_EQ(start_refusal_in(line_of(refusal)), refusal);
  EXPECT_EQ(line_of(StartRefusal{.server = 2, .why = "a\nb"}), "server 2 cannot be started: a b");
  EXPECT_LT(line_of(StartRefusal{.server = 2, .why = std::string(1000, 'x')}).size(), 256U);
}

TEST(MigrationOrder, OtherLinesSayNothingLikeThat) {
  for (const char* line :
       {"", "server ", "server x is to have the place of server 0",
        "server 2 is to have the place of server ",
        "server 2 is to have the place of server 0at node1", "server 2 has ended",
        "worker 2 cannot be started: x", "server -2 cannot be started: x"}) {
    EXPECT_EQ(move_order_in(line), std::nullopt) << line;
    EXPECT_EQ(start_refusal_in(line), std::nullopt) << line;
  }
}

}  // namespace
}  // namespace stretto
