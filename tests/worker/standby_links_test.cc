// SPDX-License-Identifier: Apache-2.0
// Workers connect to standbys, and report standbys that they cannot reach.
#include "worker/server_path/standby_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StandbyLinksTest : public testing::Test {
 protected:
  StandbyLinksTest() {
    roster_.members.push_back({.node = 60,
                               .role = Role::kServer,
                               .rank = 0,
                               .address = "standby:1",
                               .moved_up = 1,
                               .standby = true});
  }

  void follow() { links_.follow(roster_, fake::hello(Role::kWorker, 0), clock_.now()); }
  // The causes of the losses reported after `time`.
  std::vector<std::string> missed_after(Duration time, bool excused = false) {
    clock_.advance_to(clock_.now() + time);
    std::vector<std::string> causes;
    for (const auto& missed : links_.take_missed(clock_.now(), excused)) {
      EXPECT_EQ(missed.member.node, 60U);
      causes.push_back(missed.why.cause());
    }
    return causes;
  }

  static control::Welcome heard() {
    control::Welcome welcome = fake::welcome(10, 0);
    welcome.stands_by = true;
    return welcome;
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  Van van_{fake::scripted_transport(wire_), clock_};
  StandbyLinks links_{van_};
  Roster roster_ = fake::roster(2, 1);
  const control::TakeIn taken_{.step = 3};
};

TEST_F(StandbyLinksTest, CallsOnlyStandbysAndOnce) {
  follow();
  follow();
  EXPECT_THAT(wire_.connected, ElementsAre("standby:1"));
  EXPECT_FALSE(links_.holds(7, taken_)) << "a stranger's";
  EXPECT_FALSE(links_.lose(7, {Code::kLinkBroken, "gone"}));
}

TEST_F(StandbyLinksTest, AnsweredStandbyIsSettled) {
  EXPECT_TRUE(links_.settled());
  follow();
  EXPECT_FALSE(links_.settled());
  EXPECT_TRUE(links_.holds(1, heard()));
  EXPECT_TRUE(links_.settled());
  EXPECT_TRUE(van_.links().is_open(1)) << "so its session outlives a link that breaks";
  EXPECT_EQ(links_.next_due(), Time::max());
  EXPECT_THAT(missed_after(1h), IsEmpty());
  EXPECT_EQ(links_.promote(60), 1U);
  EXPECT_THAT(links_.take_said(), IsEmpty());
}

TEST_F(StandbyLinksTest, HoldsMessagesUntilPromotion) {
  follow();
  EXPECT_TRUE(links_.holds(1, heard()));
  EXPECT_TRUE(links_.holds(1, fake::welcome(10, 0)));
  EXPECT_TRUE(links_.holds(1, taken_));
  EXPECT_TRUE(van_.links().is_open(1)) << "it may say more than that it is welcome";
  EXPECT_THAT(links_.take_said(), IsEmpty());
  EXPECT_EQ(links_.promote(60), 1U);
  EXPECT_FALSE(links_.holds(1, taken_));
  const auto said = links_.take_said();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[1].first, 1U);
  EXPECT_EQ(std::get<control::TakeIn>(said[1].second).step, 3U);
  EXPECT_THAT(links_.take_said(), IsEmpty());
  EXPECT_EQ(links_.promote(60), std::nullopt);
  roster_.members.back().standby = false;
  follow();
  EXPECT_THAT(wire_.closed, IsEmpty());
}

TEST_F(StandbyLinksTest, UnansweringStandbyTimesOut) {
  follow();
  EXPECT_EQ(links_.next_due(), clock_.now() + 10s);
  EXPECT_THAT(missed_after(12s), IsEmpty()) << "this process may have stood still";
  EXPECT_THAT(missed_after(1s - 1ns), IsEmpty());
  EXPECT_THAT(missed_after(1ns), ElementsAre(HasSubstr("it did not answer within 11 s")));
  EXPECT_THAT(wire_.closed, ElementsAre(1));
  EXPECT_THAT(missed_after(1h), IsEmpty()) << "once";
  follow();
  EXPECT_THAT(wire_.connected, ElementsAre("standby:1")) << "nor is it called again";
  EXPECT_EQ(links_.promote(60), std::nullopt) << "but if it has the place";
}

TEST_F(StandbyLinksTest, LongerDeadAfterExtendsTimeout) {
  roster_.settings.dead_after = 30s;
  follow();
  EXPECT_EQ(links_.next_due(), clock_.now() + 60s);
}

TEST_F(StandbyLinksTest, SchedulerAbsenceRestartsTimeout) {
  follow();
  EXPECT_THAT(missed_after(25s, true), IsEmpty());
  EXPECT_THAT(missed_after(10s), IsEmpty());
  EXPECT_EQ(missed_after(1s).size(), 1U);
}

TEST_F(StandbyLinksTest, StandbyWithEndedLinkIsMissed) {
  follow();
  EXPECT_TRUE(links_.lose(1, {Code::kLinkBroken, "refused"}));
  EXPECT_TRUE(links_.settled()) << "nobody waits for it";
  EXPECT_EQ(links_.next_due(), Time());
  EXPECT_THAT(missed_after(0s), ElementsAre("refused"));
}

TEST_F(StandbyLinksTest, RefusalBecomesReasonForMiss) {
  follow();
  EXPECT_TRUE(links_.holds(1, control::Fault{.why = {Code::kRefused, "another job's token"}}));
  EXPECT_THAT(missed_after(0s), IsEmpty());
  EXPECT_TRUE(links_.lose(1, {Code::kLinkBroken, "the far end has closed the link"}));
  EXPECT_THAT(missed_after(0s), ElementsAre("another job's token"));
}

TEST_F(StandbyLinksTest, RefusalOfPromotedStandbyIsHeard) {
  follow();
  EXPECT_TRUE(links_.holds(1, control::Fault{.why = {Code::kRefused, "no worker of this job"}}));
  EXPECT_EQ(links_.promote(60), 1U);
  const auto said = links_.take_said();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(std::get<control::Fault>(said[0].second).why.cause(), "no worker of this job");
}

TEST_F(StandbyLinksTest, UnreachableStandbyIsMissed) {
  wire_.refusal = {Code::kNetwork, "no such host"};
  follow();
  EXPECT_THAT(missed_after(0s), ElementsAre("no such host"));
}

TEST_F(StandbyLinksTest, LinkToDepartedStandbyIsClosed) {
  follow();
  roster_.members.back().left = true;
  follow();
  EXPECT_THAT(wire_.closed, ElementsAre(1));
  EXPECT_FALSE(links_.lose(1, {Code::kLinkBroken, "gone"}));
  EXPECT_THAT(missed_after(1h), IsEmpty());
}

TEST_F(StandbyLinksTest, StandbyWithTooManyMessagesIsRefused) {
  follow();
  EXPECT_TRUE(links_.holds(1, fake::welcome(10, 0)));
  for (int i = 0; i < 64 * 1024; ++i) EXPECT_TRUE(links_.holds(1, taken_));
  EXPECT_FALSE(van_.links().is_open(1));
}

}  // namespace
}  // namespace stretto
