// SPDX-License-Identifier: Apache-2.0
// Which end reconnects, when, and how long a detached session waits.
#include "van/session/parted_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration kPatience = 1s;

class PartedSessionsTest : public testing::Test {
 protected:
  Time at(Duration time) const { return Time(1000s) + time; }
  void part(LinkId session, bool ours, Duration when) {
    sessions_.part(session, ours, {Code::kLinkBroken, "reset"}, kPatience, at(when));
  }
  void refused_once_and_tried_again() {
    part(1, true, 0s);
    EXPECT_THAT(sessions_.to_connect(at(0s)), ElementsAre(1));
    sessions_.attempted(1, 7);
    sessions_.failed(7, true, at(10ms));
    EXPECT_THAT(sessions_.to_connect(at(100ms)), ElementsAre(1));
    sessions_.attempted(1, 8);
  }

  PartedSessions sessions_{{.patience = kPatience, .grace = 200ms, .attempt = 300ms}};
};

TEST_F(PartedSessionsTest, InitiatorReconnectsAtOnceThenPeriodically) {
  part(1, true, 0s);
  part(2, false, 0s);
  EXPECT_THAT(sessions_.to_connect(at(0s)), ElementsAre(1));
  EXPECT_THAT(sessions_.to_connect(at(99ms)), IsEmpty());
  EXPECT_THAT(sessions_.to_connect(at(100ms)), ElementsAre(1));
}

TEST_F(PartedSessionsTest, OneLinkIsMadeAtATime) {
  part(1, true, 0s);
  sessions_.attempted(1, 7);
  EXPECT_EQ(sessions_.attempted_by(7), 1U);
  EXPECT_THAT(sessions_.to_connect(at(500ms)), IsEmpty());
  sessions_.failed(7, false, at(500ms));
  EXPECT_THAT(sessions_.to_connect(at(500ms)), ElementsAre(1));
  EXPECT_EQ(sessions_.attempted_by(7), 0U);
}

TEST_F(PartedSessionsTest, PatienceEnds) {
  part(1, false, 0s);
  EXPECT_EQ(sessions_.next_due(), at(1s));
  EXPECT_THAT(sessions_.lost(at(999ms)), IsEmpty());
  ASSERT_THAT(sessions_.lost(at(1s)), SizeIs(1));
  EXPECT_EQ(sessions_.lost(at(1s))[0].why.cause(), "reset");
}

TEST_F(PartedSessionsTest, ALinkOverWhichNothingComesWinsNoTime) {
  part(1, false, 0s);
  sessions_.join(1);
  EXPECT_EQ(sessions_.next_due(), Time::max());
  part(1, false, 900ms);
  EXPECT_THAT(sessions_.lost(at(1s)), SizeIs(1));
}

TEST_F(PartedSessionsTest, OneOverWhichSomethingCameDoes) {
  part(1, false, 0s);
  sessions_.join(1);
  sessions_.remove(1);
  part(1, false, 900ms);
  EXPECT_THAT(sessions_.lost(at(1s)), IsEmpty());
}

TEST_F(PartedSessionsTest, RefusalsBeyondGraceLoseSession) {
  refused_once_and_tried_again();
  sessions_.failed(8, true, at(110ms));
  EXPECT_EQ(sessions_.next_due(), at(200ms));
  EXPECT_THAT(sessions_.to_connect(at(200ms)), ElementsAre(1));
  sessions_.attempted(1, 9);
  sessions_.failed(9, true, at(200ms));
  EXPECT_EQ(sessions_.next_due(), at(210ms)) << "the grace is over: it is asked once more";
  EXPECT_THAT(sessions_.to_connect(at(210ms)), ElementsAre(1));
  sessions_.attempted(1, 10);
  EXPECT_THAT(sessions_.lost(at(210ms)), IsEmpty());
  sessions_.failed(10, true, at(211ms));
  EXPECT_THAT(sessions_.lost(at(211ms)), SizeIs(1));
}

TEST_F(PartedSessionsTest, AttemptInProgressDefersLoss) {
  part(1, true, 0s);
  EXPECT_THAT(sessions_.to_connect(at(0s)), ElementsAre(1));
  sessions_.attempted(1, 7);
  sessions_.failed(7, true, at(10ms));
  EXPECT_THAT(sessions_.to_connect(at(180ms)), ElementsAre(1));
  sessions_.attempted(1, 8);
  EXPECT_THAT(sessions_.lost(at(250ms)), IsEmpty());
  sessions_.join(1);
  part(1, true, 260ms);
  EXPECT_THAT(sessions_.lost(at(260ms)), IsEmpty()) << "somebody was there";
}

TEST_F(PartedSessionsTest, NonRefusalFailureKeepsSessionWaiting) {
  refused_once_and_tried_again();
  sessions_.failed(8, false, at(110ms));
  EXPECT_THAT(sessions_.lost(at(999ms)), IsEmpty());
}

TEST_F(PartedSessionsTest, AttemptsTimeOutAndThirdHasLongerLimit) {
  const Duration lasts[] = {300ms, 300ms, 1200ms};
  part(1, true, 0s);
  Time now = at(0s);
  LinkId attempt = 7;
  for (const Duration& least : lasts) {
    now = std::max(now, sessions_.next_due());
    ASSERT_THAT(sessions_.to_connect(now), ElementsAre(1));
    sessions_.attempted(1, attempt);
    EXPECT_THAT(sessions_.late(now + least - 1ns), IsEmpty());
    now += least;
    EXPECT_THAT(sessions_.late(now), ElementsAre(attempt));
    sessions_.failed(attempt++, false, now);
  }
}

TEST_F(PartedSessionsTest, GiveUpLosesSessionAtOnce) {
  part(1, false, 0s);
  sessions_.give_up(1);
  EXPECT_THAT(sessions_.lost(at(0s)), SizeIs(1));
}

TEST_F(PartedSessionsTest, NodesTryAgainAtMomentsOfTheirOwn) {
  std::set<Time> moments;
  for (std::uint64_t node = 1; node <= 100; ++node) {
    PartedSessions sessions({.patience = kPatience});
    sessions.set_spread(node);
    sessions.part(1, true, {Code::kLinkBroken, "reset"}, kPatience, at(0s));
    EXPECT_THAT(sessions.to_connect(at(0s)), SizeIs(1));
    moments.insert(sessions.next_due());
  }
  EXPECT_GT(moments.size(), 60U);
  EXPECT_GE(*moments.begin(), at(100ms));
  EXPECT_LE(*moments.rbegin(), at(200ms));
}

TEST(ReconnectTimeouts, TheirOrderHoldsForEverySilence) {
  for (const Duration dead_after : {Duration{0}, Duration{1}, Duration(10ms), Duration(5s),
                                    Duration(24h * 365 * 200), Duration::max()}) {
    const ReconnectTimeouts limits = link_limits(dead_after);
    EXPECT_LT(limits.attempt, limits.grace);
    EXPECT_LT(limits.grace, limits.brief);
    EXPECT_LT(limits.brief, limits.path);
  }
  EXPECT_GT(link_limits(JobSettings().dead_after).brief, JobSettings().heartbeat + 200ms)
      << "who has nothing to say finds out with its heartbeat, and comes back";
  for (const Duration dead_after : {Duration(1s), Duration(5s)}) {
    const ReconnectTimeouts limits = link_limits(dead_after);
    EXPECT_LT(limits.path, limits.patience);
  }
}

}  // namespace
}  // namespace stretto
