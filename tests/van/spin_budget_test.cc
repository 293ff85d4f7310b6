// SPDX-License-Identifier: Apache-2.0
// How often processors are counted, in time that is handed in.
#include "van/event_loop/spin_budget.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

class SpinBudgetTest : public testing::Test {
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

  SpinBudget spare_;
  Time now_{std::chrono::seconds(7)};
};

TEST_F(SpinBudgetTest, BudgetIsDeniedBeforeFirstAnswer) {
  EXPECT_TRUE(spare_.is_due(now_));
  EXPECT_FALSE(spare_.is_spare());
}

TEST_F(SpinBudgetTest, AnAnswerHoldsAMillisecond) {
  spare_.told(true, now_);
  EXPECT_TRUE(spare_.is_spare());
  EXPECT_EQ(holds(), SpinBudget::kHolds);
}

TEST_F(SpinBudgetTest, NegativeAnswersLengthenPauses) {
  Duration last{};
  for (int i = 0; i < 20; ++i) {
    spare_.told(false, now_);
    EXPECT_FALSE(spare_.is_spare());
    EXPECT_TRUE(holds() > last || holds() == SpinBudget::kMostPause);
    last = holds();
    now_ += last;
  }
  EXPECT_EQ(last, SpinBudget::kMostPause);
}

TEST_F(SpinBudgetTest, OnePositiveAnswerBarelyShortensPause) {
  for (int i = 0; i < 20; ++i) tell(false);
  tell(true);
  spare_.told(false, now_);
  EXPECT_EQ(holds(), SpinBudget::kMostPause - SpinBudget::kMostPause / 16);
}

TEST_F(SpinBudgetTest, LongPreemptionRevokesBudget) {
  spare_.told(true, now_);
  spare_.kept_away(SpinBudget::kMostAway, now_);
  EXPECT_TRUE(spare_.is_spare());
  spare_.kept_away(3ms, now_);
  EXPECT_FALSE(spare_.is_spare());
  EXPECT_FALSE(spare_.is_due(now_ + SpinBudget::kHolds));
}

}  // namespace
}  // namespace stretto
