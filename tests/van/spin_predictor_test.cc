// SPDX-License-Identifier: Apache-2.0
// When spinning is tried, when it continues, and when it stops.
#include "van/event_loop/spin_predictor.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

constexpr Duration kBound = 50us;
constexpr Duration kLong = 1s;

class SpinPredictorTest : public testing::Test {
 protected:
  bool looks() const { return ahead_.length() > Duration::zero(); }
  void sleeps_end(int times, Duration time) {
    for (; times > 0; --times) ahead_.slept(time, kLong);
  }
  void find(int times) {
    for (; times > 0; --times) ahead_.looked(20us, true);
  }
  void miss(int times) {
    for (; times > 0; --times) ahead_.looked(kBound, false);
  }
  // Lets sleeps end soon until it spins; returns their number, at most `most`.
  int sleeps_until_it_looks(int most = 10'000) {
    int sleeps = 0;
    for (; !looks() && sleeps < most; ++sleeps) sleeps_end(1, 60us);
    return sleeps;
  }

  SpinPredictor ahead_{kBound};
};

TEST_F(SpinPredictorTest, NothingIsLookedForAtFirst) { EXPECT_FALSE(looks()); }

TEST_F(SpinPredictorTest, ItIsTriedWhenSleepsInARowHaveEndedSoon) {
  sleeps_end(SpinPredictor::kLeastNeeded - 1, 60us);
  EXPECT_FALSE(looks());
  sleeps_end(1, 60us);
  EXPECT_EQ(ahead_.length(), kBound);
}

TEST_F(SpinPredictorTest, ASleepMayBeLongerByTheWakesOfBothEnds) {
  sleeps_end(SpinPredictor::kLeastNeeded, kBound + SpinPredictor::kWaking);
  EXPECT_TRUE(looks());
}

TEST_F(SpinPredictorTest, NeverInAnIdleJob) {
  for (int i = 0; i < 1000; ++i) {  // A heartbeat and its answer.
    sleeps_end(1, 250ms);
    EXPECT_FALSE(looks());
    sleeps_end(1, 100us);
    EXPECT_FALSE(looks());
  }
}

TEST_F(SpinPredictorTest, ASleepThatItsOwnTimerEndedSaysNothing) {
  for (int i = 0; i < 100; ++i) ahead_.slept(80us, 80us);
  EXPECT_FALSE(looks());
  sleeps_end(SpinPredictor::kLeastNeeded - 1, 60us);
  ahead_.slept(80us, 80us);
  sleeps_end(1, 60us);
  EXPECT_TRUE(looks());
}

TEST_F(SpinPredictorTest, OneThatMayNotNeverLooks) {
  SpinPredictor never(Duration::zero());
  for (int i = 0; i < 10'000; ++i) never.slept(10us, kLong);
  EXPECT_EQ(never.length(), Duration::zero());
}

TEST_F(SpinPredictorTest, ItGoesOnWhereMostLooksFindSomething) {
  sleeps_until_it_looks();
  for (int i = 0; i < 100; ++i) {
    find(3);
    miss(1);
    EXPECT_TRUE(looks());
  }
}

TEST_F(SpinPredictorTest, ItIsGivenUpWhereHalfOfThemFindNothing) {
  sleeps_until_it_looks();
  find(100);
  int looks_left = 0;
  for (; looks() && looks_left < 1000; looks_left += 2) {
    miss(1);
    if (looks()) find(1);
  }
  EXPECT_LT(looks_left, 30);
}

TEST_F(SpinPredictorTest, WhenTrafficEndsFewLooksAreInVain) {
  sleeps_until_it_looks();
  find(10'000);
  int in_vain = 0;
  for (; looks(); ++in_vain) {
    miss(1);
    sleeps_end(1, 250ms);
  }
  EXPECT_LE(in_vain, 4);
}

TEST_F(SpinPredictorTest, EachTrialInVainDoublesTheSleepsBeforeTheNext) {
  int before = sleeps_until_it_looks();
  while (before < SpinPredictor::kMostNeeded) {
    miss(2);
    EXPECT_FALSE(looks());
    const int sleeps = sleeps_until_it_looks();
    EXPECT_EQ(sleeps, 2 * before);
    before = sleeps;
  }
  miss(2);
  EXPECT_EQ(sleeps_until_it_looks(), SpinPredictor::kMostNeeded);
}

TEST_F(SpinPredictorTest, OneThatPaysAgainIsTriedSoonAgain) {
  for (int i = 0; i < 20; ++i) {
    sleeps_until_it_looks();
    miss(2);
  }
  sleeps_until_it_looks();
  find(20);
  while (looks()) miss(1);
  EXPECT_LE(sleeps_until_it_looks(), 2 * SpinPredictor::kLeastNeeded);
}

TEST_F(SpinPredictorTest, ReadyDataDoesNotJustifySpinning) {
  sleeps_until_it_looks();
  for (int i = 0; i < 100; ++i) ahead_.looked(500ns, true);
  miss(2);
  EXPECT_FALSE(looks());
}

TEST_F(SpinPredictorTest, ALookThatWasCutShortDoesNotSpeakAgainstIt) {
  sleeps_until_it_looks();
  for (int i = 0; i < 100; ++i) ahead_.looked(30us, false);
  EXPECT_TRUE(looks());
}

}  // namespace
}  // namespace stretto
