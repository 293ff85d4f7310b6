// SPDX-License-Identifier: Apache-2.0
// The workers behind links, and workers that have left.
#include "server/sessions/worker_links.h"

#include "tests/server/links_fixture.h"

namespace stretto::fake {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(LinksTest, AnswersHelloAfterRosterArrives) {
  call(first_, 0);
  EXPECT_TRUE(first_.controls().empty());
  EXPECT_EQ(links_.find(first_.link()), nullptr);
  EXPECT_EQ(links_.group(), nullptr);
  EXPECT_TRUE(links_.follow(roster_).empty());
  step();
  EXPECT_EQ(std::get<control::Welcome>(first_.control()).node, 10U);
  ASSERT_NE(links_.find(first_.link()), nullptr);
  EXPECT_EQ(links_.find(first_.link())->node, 10U);
  EXPECT_EQ(links_.link_of(10), first_.link());
  EXPECT_EQ(links_.link_of(11), 0U) << "it is not connected";
  EXPECT_THAT(links_.group()->all(), ElementsAre(Contributor{10, 0}, Contributor{11, 1}));
}

TEST_F(LinksTest, OneNodeHasOneLink) {
  begin();
  FarEnd again(wire_, 103, 10);
  call(again, 0);
  links_.follow(roster_);
  step();
  EXPECT_THAT(std::get<control::Fault>(again.control()).why.cause(),
              HasSubstr("connected already"));
  EXPECT_EQ(links_.link_of(10), first_.link());
}

TEST_F(LinksTest, WorkerReconnectsAfterLinkEnds) {
  begin();
  first_.break_link();
  step();
  EXPECT_EQ(links_.find(first_.link()), nullptr);
  EXPECT_EQ(links_.link_of(10), 0U);
  FarEnd again(wire_, 103, 10);
  call(again, 0);
  links_.follow(roster_);
  EXPECT_EQ(links_.link_of(10), 103U);
}

TEST_F(LinksTest, ACallerThatHasGoneIsNotAnswered) {
  call(first_, 0);
  first_.break_link();
  step();
  links_.follow(roster_);
  EXPECT_EQ(links_.link_of(10), 0U);
}

TEST_F(LinksTest, ReportsDepartureOnce) {
  begin();
  second_.say(leave());
  step();
  EXPECT_THAT(links_.left(), ElementsAre(11));
  EXPECT_TRUE(links_.follow(roster_).empty()) << "no roster has said so";
  roster_.members[1].left = true;
  ++roster_.epoch;
  EXPECT_THAT(links_.follow(roster_).left, ElementsAre(11));
  ++roster_.epoch;
  EXPECT_TRUE(links_.follow(roster_).empty());
}

TEST_F(LinksTest, WorkerLostInElasticJobHasNoLinkOrRounds) {
  roster_.settings.min_workers = 1;
  begin();
  roster_.members[0].left = true;
  roster_.members[0].lost = true;
  roster_.members[1].rank = 0;
  roster_.members[1].moved_up = 1;
  roster_.workers = 1;
  ++roster_.epoch;
  const WorkerLinks::Departures gone = links_.follow(roster_);
  EXPECT_THAT(gone.lost, ElementsAre(10));
  EXPECT_TRUE(gone.left.empty());
  EXPECT_EQ(links_.find(first_.link()), nullptr);
  EXPECT_EQ(links_.link_of(10), 0U);
  EXPECT_THAT(links_.group()->all(), ElementsAre(Contributor{11, 1})) << "by its number";
  EXPECT_TRUE(links_.follow(roster_).empty());
}

}  // namespace
}  // namespace stretto::fake
