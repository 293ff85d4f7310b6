// SPDX-License-Identifier: Apache-2.0
// Who connects anew, when, and how long a session waits.
#include "van/parted_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class PartedSessionsTest : public testing::Test {
 protected:
  Time at(Duration time) const { return Time(1000s) + time; }
  void part(LinkId session, bool ours, Duration when) {
    sessions_.part(session, ours, {Code::kLinkBroken, "reset"}, at(when));
  }

  PartedSessions sessions_{1s};
};

TEST_F(PartedSessionsTest, WhoMadeTheLinkConnectsAtOnceAndThenNowAndThen) {
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
  sessions_.failed(7);
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

}  // namespace
}  // namespace stretto
