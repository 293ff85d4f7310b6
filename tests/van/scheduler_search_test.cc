// SPDX-License-Identifier: Apache-2.0
// When a lost scheduler is called, and for how long.
#include "van/scheduler_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

class SchedulerSearchTest : public testing::Test {
 protected:
  SchedulerSearchTest() { search_.begin({Code::kSchedulerLost, "it broke"}, 120s, 3, now_); }

  Time now_ = Time(5s);
  SchedulerSearch search_;
};

TEST_F(SchedulerSearchTest, ItIsCalledAtOnceAndThenNowAndThen) {
  EXPECT_TRUE(search_.lasts());
  EXPECT_TRUE(search_.calls(now_));
  search_.called(now_);
  EXPECT_EQ(search_.next_due(), now_ + 1s);
  search_.failed({Code::kRefused, "nobody listens"}, now_);
  EXPECT_FALSE(search_.calls(now_ + 100ms));
  EXPECT_TRUE(search_.calls(now_ + 150ms));
  EXPECT_LE(search_.next_due(), now_ + 150ms);
}

TEST_F(SchedulerSearchTest, ACallThatIsNotAnsweredIsGivenUp) {
  search_.called(now_);
  EXPECT_FALSE(search_.is_unanswered(now_ + 999ms));
  EXPECT_TRUE(search_.is_unanswered(now_ + 1s));
}

TEST_F(SchedulerSearchTest, ItHasAnEndAndWordsForIt) {
  search_.failed({Code::kRefused, "nobody listens"}, now_);
  EXPECT_FALSE(search_.is_over(now_ + 119s));
  EXPECT_TRUE(search_.is_over(now_ + 120s));
  EXPECT_EQ(search_.verdict().code(), Code::kSchedulerLost);
  EXPECT_EQ(search_.verdict().cause(),
            "it broke; and it was not back within 120 s (nobody listens)");
}

TEST_F(SchedulerSearchTest, WhoStoodStillMeanwhileLooksAgain) {
  now_ += 300s;
  search_.slept(now_);
  EXPECT_FALSE(search_.is_over(now_ + 1s));
}

TEST_F(SchedulerSearchTest, MembersCallAtMomentsOfTheirOwn) {
  SchedulerSearch other;
  other.begin({Code::kSchedulerLost, "it broke"}, 120s, 4, now_);
  search_.failed({}, now_);
  other.failed({}, now_);
  EXPECT_NE(search_.next_due(), other.next_due());
}

TEST_F(SchedulerSearchTest, ThatItIsBackEndsIt) {
  search_.end();
  EXPECT_FALSE(search_.lasts());
}

}  // namespace
}  // namespace stretto
