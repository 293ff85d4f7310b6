// SPDX-License-Identifier: Apache-2.0
// When a lost scheduler is called, and for how long.
#include "van/membership/scheduler_reconnect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

class SchedulerReconnectTest : public testing::Test {
 protected:
  SchedulerReconnectTest() { search_.begin({Code::kSchedulerLost, "it broke"}, 120s, 3, now_); }

  Time now_ = Time(5s);
  SchedulerReconnect search_;
};

TEST_F(SchedulerReconnectTest, ItIsCalledAtOnceAndThenNowAndThen) {
  EXPECT_TRUE(search_.lasts());
  EXPECT_TRUE(search_.calls(now_));
  search_.called(now_);
  EXPECT_EQ(search_.next_due(), now_ + 1s);
  search_.failed({Code::kRefused, "nobody listens"}, now_);
  EXPECT_FALSE(search_.calls(now_ + 100ms));
  EXPECT_TRUE(search_.calls(now_ + 150ms));
  EXPECT_LE(search_.next_due(), now_ + 150ms);
}

TEST_F(SchedulerReconnectTest, ACallThatIsNotAnsweredIsGivenUp) {
  search_.called(now_);
  EXPECT_FALSE(search_.is_unanswered(now_ + 999ms));
  EXPECT_TRUE(search_.is_unanswered(now_ + 1s));
}

TEST_F(SchedulerReconnectTest, ItHasAnEndAndWordsForIt) {
  search_.failed({Code::kRefused, "nobody listens"}, now_);
  EXPECT_FALSE(search_.is_over(now_ + 119s));
  EXPECT_TRUE(search_.is_over(now_ + 120s));
  EXPECT_EQ(search_.verdict().code(), Code::kSchedulerLost);
  EXPECT_EQ(search_.verdict().cause(),
            "it broke; and it was not back within 120 s (nobody listens)");
}

TEST_F(SchedulerReconnectTest, PersistentRefusalsMeanAnotherJob) {
  const Status refusal(Code::kRefused, "this is job 7");
  for (int i = 0; i < 2; ++i) {
    search_.refused(refusal, now_);
    search_.failed({Code::kRefused, "the link has ended"}, now_);
    now_ += 4s;
  }
  EXPECT_FALSE(search_.meets_a_stranger(now_)) << "two are no more than an accident";
  search_.failed({Code::kLinkBroken, "nobody listens"}, now_);
  for (int i = 0; i < 3; ++i) {
    search_.refused(refusal, now_);
    search_.failed({Code::kRefused, "the link has ended"}, now_);
    EXPECT_FALSE(search_.meets_a_stranger(now_)) << "it was nobody's in between";
    now_ += 2s;
  }
  EXPECT_TRUE(search_.meets_a_stranger(now_));
  EXPECT_EQ(search_.replaced().code(), Code::kSchedulerLost);
  EXPECT_THAT(search_.replaced().cause(), HasSubstr("of another job (this is job 7)"));
}

TEST_F(SchedulerReconnectTest, ThatItIsMissedIsSaidOnce) {
  EXPECT_FALSE(search_.is_missed(now_ + 1s));
  EXPECT_TRUE(search_.is_missed(now_ + 2s));
  EXPECT_FALSE(search_.is_missed(now_ + 3s));
  EXPECT_EQ(search_.news(now_ + 2s), "it broke; another is awaited for 118 s more");
}

TEST_F(SchedulerReconnectTest, OwnStallDoesNotEndSearch) {
  now_ += 300s;
  search_.slept(now_);
  EXPECT_FALSE(search_.is_over(now_ + 1s));
}

TEST_F(SchedulerReconnectTest, MembersCallAtMomentsOfTheirOwn) {
  SchedulerReconnect other;
  other.begin({Code::kSchedulerLost, "it broke"}, 120s, 4, now_);
  search_.failed({}, now_);
  other.failed({}, now_);
  EXPECT_NE(search_.next_due(), other.next_due());
}

TEST_F(SchedulerReconnectTest, ThatItIsBackEndsIt) {
  search_.end();
  EXPECT_FALSE(search_.lasts());
}

}  // namespace
}  // namespace stretto
