// SPDX-License-Identifier: Apache-2.0
// What a loop's waits for processors come to, in virtual time.
#include "van/waits.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

class WaitsTest : public testing::Test {
 protected:
  // A second in which the loop looks every `turn`, and of all that passes so often it has waited.
  void pass(Duration turn, int every, Duration wait) {
    for (int i = 0; i * turn < 1s; ++i) {
      now_ += turn;
      if (i % every == 0) waited_ += wait;
      if (waits_.is_due(now_)) waits_.note(waited_, now_);
    }
  }

  Waits waits_;
  Time now_{std::chrono::seconds(7)};
  Duration waited_ = 3s;  // Before anybody looked.
};

TEST_F(WaitsTest, NothingIsKnownAtFirst) {
  EXPECT_TRUE(waits_.is_due(now_));
  waits_.note(waited_, now_);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(WaitsTest, LookingIsDueOnceAMillisecond) {
  waits_.note(waited_, now_);
  EXPECT_FALSE(waits_.is_due(now_ + 999us));
  EXPECT_TRUE(waits_.is_due(now_ + 1ms));
}

TEST_F(WaitsTest, WhatAnotherThreadHasWaitedInItsLifeIsNoWaitOfTheLoop) {
  pass(5ms, 4, 0ms);
  waits_.move(waited_ + 20s);
  waited_ += 20s;
  pass(5ms, 4, 0ms);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(WaitsTest, LongWaitsCountByTheirLength) {
  pass(5ms, 4, 3ms);
  EXPECT_NEAR(std::chrono::duration<double>(waits_.typical()).count(), 3e-3, 1e-4);
}

TEST_F(WaitsTest, ShortWaitsAreOrdinaryHoweverManyThereAre) {
  pass(1ms, 1, 700us);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(WaitsTest, RareWaitsMakeNoDifference) {
  pass(5ms, 100, 3ms);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(WaitsTest, WhatIsOverIsForgotten) {
  pass(5ms, 4, 3ms);
  pass(5ms, 1, 0ms);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

}  // namespace
}  // namespace stretto
