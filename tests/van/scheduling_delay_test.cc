// SPDX-License-Identifier: Apache-2.0
// The scheduling delays of a loop, in virtual time.
#include "van/path/scheduling_delay.h"

#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

class SchedulingDelayTest : public testing::Test {
 protected:
  // A second with a sample every `turn`; each `every`-th one includes a delay of `wait`.
  void pass(Duration turn, int every, Duration wait) {
    for (int i = 0; i * turn < 1s; ++i) {
      now_ += turn;
      if (i % every == 0) waited_ += wait;
      if (waits_.is_due(now_)) waits_.note(waited_, now_);
    }
  }

  SchedulingDelay waits_;
  Time now_{std::chrono::seconds(7)};
  Duration waited_ = 3s;  // Before the first sample.
};

TEST_F(SchedulingDelayTest, NothingIsKnownAtFirst) {
  EXPECT_TRUE(waits_.is_due(now_));
  waits_.note(waited_, now_);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(SchedulingDelayTest, LookingIsDueOnceAMillisecond) {
  waits_.note(waited_, now_);
  EXPECT_FALSE(waits_.is_due(now_ + 999us));
  EXPECT_TRUE(waits_.is_due(now_ + 1ms));
}

TEST_F(SchedulingDelayTest, MoveToOtherThreadAddsNoDelay) {
  pass(5ms, 4, 0ms);
  waits_.move(waited_ + 20s);
  waited_ += 20s;
  pass(5ms, 4, 0ms);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(SchedulingDelayTest, LongWaitsCountByTheirLength) {
  pass(5ms, 4, 3ms);
  EXPECT_NEAR(std::chrono::duration<double>(waits_.typical()).count(), 3e-3, 1e-4);
}

TEST_F(SchedulingDelayTest, ShortWaitsAreOrdinaryHoweverManyThereAre) {
  pass(1ms, 1, 700us);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(SchedulingDelayTest, RareWaitsMakeNoDifference) {
  pass(5ms, 100, 3ms);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

TEST_F(SchedulingDelayTest, ForgetsPastDelays) {
  pass(5ms, 4, 3ms);
  pass(5ms, 1, 0ms);
  EXPECT_EQ(waits_.typical(), Duration::zero());
}

/// The accounts of threads that alternate at a loop.
class Accounts final : public Clock {
 public:
  Time now() const override { return now_; }
  Duration waited() const override {
    ++looks_;
    return waited_[thread_];
  }
  const void* thread() const { return &waited_[thread_]; }
  void pass(Duration time) { now_ += time; }
  void wait(Duration time) {
    waited_[thread_] += time;
    pass(time);
  }
  void go_on_as(std::size_t thread) { thread_ = thread; }
  int looks() const { return looks_; }

 private:
  Time now_{std::chrono::seconds(7)};
  std::vector<Duration> waited_{1s, 30s, 20s};
  std::size_t thread_ = 0;
  mutable int looks_ = 0;
};

// Two threads drive alternately and compute in between; each drive has one poll that waits `wait`.
Duration alternate(Accounts& accounts, Duration wait, Duration computes) {
  SchedulingDelay waits;
  for (const Time end = accounts.now() + 2s; accounts.now() < end;) {
    for (const std::size_t thread : {1U, 2U}) {
      accounts.go_on_as(thread);
      waits.begin_turn(accounts, accounts.thread());
      accounts.pass(50us);
      accounts.wait(wait);
      waits.end_turn(accounts);
      accounts.wait(computes);  // Not a wait of the loop.
    }
  }
  return waits.typical();
}

TEST(WaitsOfMany, DriversThatTakeTurnsLoseNoWait) {
  Accounts accounts;
  EXPECT_NEAR(seconds(alternate(accounts, 3ms, 20us)), 3e-3, 1e-4);
}

TEST(WaitsOfMany, DelaysOutsideLoopDoNotCount) {
  Accounts accounts;
  EXPECT_NEAR(seconds(alternate(accounts, 3ms, 5ms)), 3e-3, 1e-4);
  EXPECT_EQ(alternate(accounts, 20us, 10ms), Duration::zero());
}

TEST(WaitsOfMany, SamplesAtMostOncePerMillisecond) {
  Accounts accounts;
  const Time begin = accounts.now();
  EXPECT_EQ(alternate(accounts, 20us, 5us), Duration::zero());
  EXPECT_LE(accounts.looks(), (accounts.now() - begin) / 1ms + 1);
}

}  // namespace
}  // namespace stretto
