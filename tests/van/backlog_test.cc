// SPDX-License-Identifier: Apache-2.0
// What waits for which link, and what is told of links that have changed.
#include "van/queue/backlog.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/van/send_queue_fixture.h"

namespace stretto {
namespace {

class BacklogTest : public testing::Test {
 protected:
  BacklogTest() {
    for (LinkId link : {1U, 2U}) backlog_.add(link);
  }
  std::vector<LinkId> changed() {
    std::vector<LinkId> links;
    backlog_.drain_changed([&links](LinkId link, const LinkQueue&) { links.push_back(link); });
    return links;
  }

  Backlog backlog_;
};

TEST_F(BacklogTest, EachChangedLinkIsToldOnce) {
  for (int i = 0; i < 3; ++i) backlog_.push(2, tagged(0, 1, 7));
  backlog_.push_control(2, Frame{});
  EXPECT_EQ(changed(), std::vector<LinkId>{2});
  EXPECT_TRUE(changed().empty());
  backlog_.pause(7);
  EXPECT_EQ(changed(), std::vector<LinkId>{2});
  backlog_.pause(8);
  EXPECT_TRUE(changed().empty()) << "nothing waits of that tag";
}

TEST_F(BacklogTest, ALinkThatIsRemovedTakesItsFramesAlong) {
  backlog_.push(1, tagged(0, 1, 7));
  backlog_.push(2, tagged(3, 2, 7));
  backlog_.push(2, tagged(3, 3, 8));
  backlog_.push_control(2, Frame{});
  backlog_.pause(8);
  EXPECT_EQ(backlog_.waiting(), 4U);
  EXPECT_EQ(backlog_.waiting(2), 3U);
  backlog_.remove(2);
  EXPECT_EQ(backlog_.waiting(), 1U);
  EXPECT_EQ(backlog_.waiting(2), 0U);
  EXPECT_EQ(backlog_.untouched(7), 1U);
  EXPECT_EQ(backlog_.untouched(8), 0U);
  EXPECT_EQ(changed(), std::vector<LinkId>{1});
  backlog_.push(2, tagged(0, 4, 9));
  EXPECT_EQ(backlog_.waiting(), 1U) << "for a link that is not there";
}

TEST_F(BacklogTest, PausedFramesWaitButAreNoData) {
  backlog_.push(1, tagged(5, 1, 7));
  EXPECT_TRUE(backlog_.has_data(1));
  EXPECT_EQ(backlog_.waiting_by_priority().at(5), 1U);
  backlog_.pause(7);
  EXPECT_FALSE(backlog_.has_data(1));
  EXPECT_EQ(backlog_.waiting(1), 1U);
  EXPECT_TRUE(backlog_.waiting_by_priority().empty());
  EXPECT_EQ(backlog_.cancel(7).size(), 1U);
  EXPECT_EQ(backlog_.waiting(), 0U);
}

}  // namespace
}  // namespace stretto
