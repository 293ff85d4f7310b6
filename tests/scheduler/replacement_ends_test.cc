// SPDX-License-Identifier: Apache-2.0
// Which ended processes were replacements that had not joined.
#include "scheduler/launcher/replacement_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Rank kNumber = 1;

class ReplacementEndsTest : public testing::Test {
 protected:
  void join(NodeId node) {
    Member server{};
    server.node = node;
    server.role = Role::kServer;
    server.rank = kNumber;
    view_.members = {{node, server}};
  }
  void lose(NodeId node) { view_.members[node].left = view_.members[node].lost = true; }
  std::vector<NodeId> end() { return ends_.lost_by({{Role::kServer, kNumber}}, view_); }

  View view_;
  ReplacementEnds ends_;
};

TEST_F(ReplacementEndsTest, OwnEndComesFirst) {
  join(7);
  lose(7);
  EXPECT_THAT(end(), IsEmpty()) << "its own, after its link broke";
  EXPECT_THAT(end(), ElementsAre(7U));
  EXPECT_THAT(end(), ElementsAre(7U)) << "each replacement";
}

TEST_F(ReplacementEndsTest, OwnEndMayPrecedeLinkEnd) {
  join(7);
  EXPECT_THAT(end(), IsEmpty());
  lose(7);
  EXPECT_THAT(end(), ElementsAre(7U));
}

TEST_F(ReplacementEndsTest, JoinedReplacementHasOwnEnd) {
  join(7);
  lose(7);
  end();
  join(8);
  lose(8);
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_THAT(end(), ElementsAre(8U));
}

TEST_F(ReplacementEndsTest, OtherEndsCountNothing) {
  join(7);
  lose(7);
  EXPECT_THAT(ends_.lost_by({{Role::kWorker, kNumber}, {Role::kServer, 5}}, view_), IsEmpty());
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(ReplacementEndsTest, DepartedServerIsNotAwaited) {
  join(7);
  view_.members[7].left = true;
  end();
  EXPECT_THAT(end(), IsEmpty());
}

}  // namespace
}  // namespace stretto
