// SPDX-License-Identifier: Apache-2.0
// Waits that are long are told, then ended, by the age of the oldest of a part.
#include "server/monitoring/stall_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/group.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StallWatchdogTest : public testing::Test {
 protected:
  StallWatchdogTest() {
    slots_.begin({.workers = fake::group_of(3), .slots = 4, .since = 1, .part_bytes = 8});
    settings_.stall_error = 8s;
    EXPECT_TRUE(slots_.open(1, fake::spec("x", Dtype::kF32, 2), 0).ok());
    part_ = slots_.place_of({1, 0}, {})->part;
    Consistency& rounds = part_->collector.rounds();
    const bool completed = rounds.contribute(11, false).has_value();
    part_->waiting.add({.worker = 11, .gate = rounds.gate_after(false, completed), .since = now_});
  }
  StalledRounds look_after(Duration time) {
    now_ += time;
    return watch_.look(slots_, settings_, now_, [this](Part& part, const Status& why) {
      part.waiting.take_all();
      failed_.push_back(why);
    });
  }

  OwnedSlots slots_{0, Buffer::allocate};
  JobSettings settings_;
  Time now_ = Time(100s);
  Part* part_ = nullptr;
  StallWatchdog watch_;
  std::vector<Status> failed_;
};

TEST_F(StallWatchdogTest, DoesNotReportShortWait) {
  EXPECT_THAT(look_after(900ms).told(), IsEmpty());
  EXPECT_EQ(watch_.next_due(), now_ + 1s);
}

TEST_F(StallWatchdogTest, ReportsLongWaitWithMissingRanks) {
  const auto told = look_after(2s).told();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].tensor, "x");
  EXPECT_EQ(told[0].round, 1U);
  EXPECT_THAT(told[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(StallWatchdogTest, TimeoutFailsWaiterNamingMissingWorkers) {
  look_after(9s);
  ASSERT_THAT(failed_, SizeIs(1));
  EXPECT_EQ(failed_[0].code(), Code::kTimeout);
  EXPECT_EQ(failed_[0].peer(), "worker 0, 2");
  EXPECT_THAT(look_after(9s).told(), IsEmpty()) << "nobody waits any more";
}

TEST_F(StallWatchdogTest, WhileAWorkerPausesNoWaitIsTooLong) {
  look_after(7s);
  watch_.excuse(now_);
  const auto told = look_after(7s).told();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].age, 14s) << "what is shown is the whole wait";
  EXPECT_THAT(failed_, IsEmpty());
  look_after(1s);
  EXPECT_THAT(failed_, SizeIs(1));
}

}  // namespace
}  // namespace stretto
