// SPDX-License-Identifier: Apache-2.0
// How often processors are counted, in time that is handed in.
#include "van/event_loop/spare_time.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

class SpareTimeTest : public testing::Test {
 protected:
  // For how long an answer holds.
  Duration holds() {
    Duration time{};
    while (!spare_.is_due(now_ + time)) time += 100us;
    return time;
  }
  void tell(bool spare) {
    spare_.told(spare, now_);
    now_ += holds();
  }

  SpareTime spare_;
  Time now_{std::chrono::seconds(7)};
};

TEST_F(SpareTimeTest, NothingIsToSpareUntilSomebodyHasAsked) {
  EXPECT_TRUE(spare_.is_due(now_));
  EXPECT_FALSE(spare_.is_spare());
}

TEST_F(SpareTimeTest, AnAnswerHoldsAMillisecond) {
  spare_.told(true, now_);
  EXPECT_TRUE(spare_.is_spare());
  EXPECT_EQ(holds(), SpareTime::kHolds);
}

TEST_F(SpareTimeTest, WhereNothingIsToSpareItIsAskedMoreAndMoreRarely) {
  Duration last{};
  for (int i = 0; i < 20; ++i) {
    spare_.told(false, now_);
    EXPECT_FALSE(spare_.is_spare());
    EXPECT_TRUE(holds() > last || holds() == SpareTime::kMostPause);
    last = holds();
    now_ += last;
  }
  EXPECT_EQ(last, SpareTime::kMostPause);
}

TEST_F(SpareTimeTest, OneGoodAnswerAmongBadOnesMakesThePausesLittleShorter) {
  for (int i = 0; i < 20; ++i) tell(false);
  tell(true);
  spare_.told(false, now_);
  EXPECT_EQ(holds(), SpareTime::kMostPause - SpareTime::kMostPause / 16);
}

TEST_F(SpareTimeTest, WhoIsKeptFromLookingForLongHasLostItsProcessor) {
  spare_.told(true, now_);
  spare_.kept_away(SpareTime::kMostAway, now_);
  EXPECT_TRUE(spare_.is_spare());
  spare_.kept_away(3ms, now_);
  EXPECT_FALSE(spare_.is_spare());
  EXPECT_FALSE(spare_.is_due(now_ + SpareTime::kHolds));
}

}  // namespace
}  // namespace stretto
