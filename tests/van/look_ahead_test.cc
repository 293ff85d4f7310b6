// SPDX-License-Identifier: Apache-2.0
// When looking is tried, when it goes on and when it is given up.
#include "van/event_loop/look_ahead.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

constexpr Duration kBound = 50us;
constexpr Duration kLong = 1s;

class LookAheadTest : public testing::Test {
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
  // Sleeps that end soon until it looks; of these at most `most`.
  int sleeps_until_it_looks(int most = 10'000) {
    int sleeps = 0;
    for (; !looks() && sleeps < most; ++sleeps) sleeps_end(1, 60us);
    return sleeps;
  }

  LookAhead ahead_{kBound};
};

TEST_F(LookAheadTest, NothingIsLookedForAtFirst) { EXPECT_FALSE(looks()); }

TEST_F(LookAheadTest, ItIsTriedWhenSleepsInARowHaveEndedSoon) {
  sleeps_end(LookAhead::kLeastNeeded - 1, 60us);
  EXPECT_FALSE(looks());
  sleeps_end(1, 60us);
  EXPECT_EQ(ahead_.length(), kBound);
}

TEST_F(LookAheadTest, ASleepMayBeLongerByTheWakesOfBothEnds) {
  sleeps_end(LookAhead::kLeastNeeded, kBound + LookAhead::kWaking);
  EXPECT_TRUE(looks());
}

TEST_F(LookAheadTest, NeverInAnIdleJob) {
  for (int i = 0; i < 1000; ++i) {  // A heartbeat, and its answer.
    sleeps_end(1, 250ms);
    EXPECT_FALSE(looks());
    sleeps_end(1, 100us);
    EXPECT_FALSE(looks());
  }
}

TEST_F(LookAheadTest, ASleepThatItsOwnTimerEndedSaysNothing) {
  for (int i = 0; i < 100; ++i) ahead_.slept(80us, 80us);
  EXPECT_FALSE(looks());
  sleeps_end(LookAhead::kLeastNeeded - 1, 60us);
  ahead_.slept(80us, 80us);
  sleeps_end(1, 60us);
  EXPECT_TRUE(looks());
}

TEST_F(LookAheadTest, OneThatMayNotNeverLooks) {
  LookAhead never(Duration::zero());
  for (int i = 0; i < 10'000; ++i) never.slept(10us, kLong);
  EXPECT_EQ(never.length(), Duration::zero());
}

TEST_F(LookAheadTest, ItGoesOnWhereMostLooksFindSomething) {
  sleeps_until_it_looks();
  for (int i = 0; i < 100; ++i) {
    find(3);
    miss(1);
    EXPECT_TRUE(looks());
  }
}

TEST_F(LookAheadTest, ItIsGivenUpWhereHalfOfThemFindNothing) {
  sleeps_until_it_looks();
  find(100);
  int looks_left = 0;
  for (; looks() && looks_left < 1000; looks_left += 2) {
    miss(1);
    if (looks()) find(1);
  }
  EXPECT_LT(looks_left, 30);
}

TEST_F(LookAheadTest, WhenTrafficEndsFewLooksAreInVain) {
  sleeps_until_it_looks();
  find(10'000);
  int in_vain = 0;
  for (; looks(); ++in_vain) {
    miss(1);
    sleeps_end(1, 250ms);
  }
  EXPECT_LE(in_vain, 4);
}

TEST_F(LookAheadTest, EachTrialInVainDoublesTheSleepsBeforeTheNext) {
  int before = sleeps_until_it_looks();
  while (before < LookAhead::kMostNeeded) {
    miss(2);
    EXPECT_FALSE(looks());
    const int sleeps = sleeps_until_it_looks();
    EXPECT_EQ(sleeps, 2 * before);
    before = sleeps;
  }
  miss(2);
  EXPECT_EQ(sleeps_until_it_looks(), LookAhead::kMostNeeded);
}

TEST_F(LookAheadTest, OneThatPaysAgainIsTriedSoonAgain) {
  for (int i = 0; i < 20; ++i) {
    sleeps_until_it_looks();
    miss(2);
  }
  sleeps_until_it_looks();
  find(20);
  while (looks()) miss(1);
  EXPECT_LE(sleeps_until_it_looks(), 2 * LookAhead::kLeastNeeded);
}

TEST_F(LookAheadTest, WhatWasThereAlreadyDoesNotSpeakForLooking) {
  sleeps_until_it_looks();
  for (int i = 0; i < 100; ++i) ahead_.looked(500ns, true);
  miss(2);
  EXPECT_FALSE(looks());
}

TEST_F(LookAheadTest, ALookThatWasCutShortDoesNotSpeakAgainstIt) {
  sleeps_until_it_looks();
  for (int i = 0; i < 100; ++i) ahead_.looked(30us, false);
  EXPECT_TRUE(looks());
}

}  // namespace
}  // namespace stretto
