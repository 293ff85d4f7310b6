// SPDX-License-Identifier: Apache-2.0
// Which end of a broken link is more likely to have failed, and when that is decided.
#include "scheduler/membership/fault_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/cpu_time.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Time kNow = Time(1s);
constexpr Time kLater = kNow + 5s;

class FaultReportsTest : public testing::Test {
 protected:
  void broke(NodeId reporter, NodeId subject) {
    faults_.add({.reporter = reporter, .subject = subject}, kNow - 100ms, 5s, is_choice_);
  }
  FaultReports::Fault fault(NodeId one, NodeId other) {
    const auto taken = faults_.take({std::min(one, other), std::max(one, other)});
    EXPECT_TRUE(taken.has_value());
    return taken.value_or(FaultReports::Fault{});
  }

  bool is_choice_ = true;
  FaultReports faults_;
};

// ---- when

TEST_F(FaultReportsTest, LinksOfLivingMembersAreDueAtOnce) {
  is_choice_ = false;
  broke(2, 9);
  faults_.alive(2, kNow);
  EXPECT_THAT(faults_.due(kNow), IsEmpty()) << "only one end lives";
  faults_.alive(9, kNow);
  EXPECT_THAT(faults_.due(kNow), ElementsAre(FaultReports::Link(2, 9)));
}

TEST_F(FaultReportsTest, SignsOfLifeOnTheirWayDoNotCount) {
  is_choice_ = false;
  broke(2, 9);
  for (const NodeId node : {2U, 9U}) faults_.alive(node, kNow - 50ms);
  EXPECT_THAT(faults_.due(kNow), IsEmpty());
  EXPECT_THAT(faults_.due(kNow + 1900ms), SizeIs(1)) << "at the latest after 2 s";
}

TEST_F(FaultReportsTest, AChoiceWaitsForOtherReports) {
  broke(2, 9);
  for (const NodeId node : {2U, 9U}) faults_.alive(node, kNow);
  EXPECT_THAT(faults_.due(kNow + 4800ms), IsEmpty());
  EXPECT_THAT(faults_.due(kNow + 4900ms), SizeIs(1));
}

TEST_F(FaultReportsTest, ASilentEndIsNotWaitedForLonger) {
  broke(2, 9);
  faults_.alive(2, kNow);
  EXPECT_THAT(faults_.due(kNow + 1800ms), IsEmpty());
  EXPECT_THAT(faults_.due(kNow + 1900ms), SizeIs(1));
}

TEST_F(FaultReportsTest, EachLinkIsReportedOnce) {
  broke(2, 9);
  broke(9, 2);
  broke(2, 2);
  EXPECT_THAT(faults_.due(kLater), ElementsAre(FaultReports::Link(2, 9)));
  EXPECT_EQ(fault(2, 9).report.reporter, 2U);
  EXPECT_FALSE(faults_.take({2, 9}).has_value());
  EXPECT_THAT(faults_.due(kLater), IsEmpty());
}

// ---- which end

TEST_F(FaultReportsTest, TheSilentEndIsLikelier) {
  broke(2, 9);
  faults_.alive(9, kNow);
  EXPECT_EQ(fault(2, 9).likelier(), 2U);
}

TEST_F(FaultReportsTest, ALivingEndThatLostSeveralIsNot) {
  for (const NodeId lost : {9U, 8U, 7U}) broke(2, lost);
  faults_.alive(2, kNow);
  const FaultReports::Fault found = fault(2, 9);
  EXPECT_EQ(found.likelier(), 9U);
  EXPECT_EQ(found.silent, 9U);
}

TEST_F(FaultReportsTest, TheCommonEndIsLikelier) {
  broke(2, 8);
  broke(9, 2);
  broke(3, 9);
  const FaultReports::Fault first = fault(2, 8);
  EXPECT_EQ(first.likelier(), 2U);
  EXPECT_EQ(first.links, 2U);
  broke(2, 8);
  broke(9, 4);
  EXPECT_EQ(fault(2, 9).likelier(), 9U);
}

TEST_F(FaultReportsTest, ElseTheLaterMemberIs) {
  broke(2, 9);
  EXPECT_EQ(fault(2, 9).likelier(), 9U);
  broke(9, 2);
  const FaultReports::Fault found = fault(2, 9);
  EXPECT_EQ(found.likelier(), 9U);
  EXPECT_EQ(found.common, 0U);
}

// ---- what is no fault any more

TEST_F(FaultReportsTest, LinksOfGoneAndPromotedMembersAreDropped) {
  for (const NodeId far_end : {3U, 4U, 5U}) broke(2, far_end);
  View before;
  for (const NodeId node : {2U, 3U, 4U, 5U}) before.members[node].node = node;
  before.members[3].standby = true;
  View now = before;
  now.members[3].standby = false;
  now.members[4].left = true;
  faults_.follow(before, now);
  EXPECT_THAT(faults_.far_ends_of(2), ElementsAre(5));
  now.members.erase(2);
  faults_.follow(now, now);
  EXPECT_THAT(faults_.due(kLater), IsEmpty());
  EXPECT_THAT(faults_.far_ends_of(5), IsEmpty());
}

// ---- what it costs

// A mesh that is split in two: twice as many members have four times as many broken links.
Duration cost_of_cut(NodeId members) {
  return least_cpu_time([members] {
    FaultReports faults;
    for (NodeId near = 0; near < members / 2; ++near) {
      for (NodeId far = members / 2; far < members; ++far) {
        faults.add({.reporter = near, .subject = far}, kNow, 5s, true);
        faults.add({.reporter = far, .subject = near}, kNow, 5s, true);
      }
    }
    for (NodeId node = 0; node < members; ++node) faults.alive(node, kNow + 1s);
    for (const FaultReports::Link& link : faults.due(kNow + 6s)) {
      EXPECT_TRUE(faults.take(link).has_value());
    }
  });
}

TEST_F(FaultReportsTest, AnIndexFindsLinksOfALargeMesh) {
  const Duration of_64 = cost_of_cut(64);
  EXPECT_LT(cost_of_cut(256), 80 * of_64) << "x16 links; each looked at all before: x256";
}

}  // namespace
}  // namespace stretto
