// SPDX-License-Identifier: Apache-2.0
// Which orders go on to the processes of a Slurm step.
#include <gmock/gmock.h>
#include <signal.h>

#include "tools/launch/process/slurm_signals.h"

namespace stretto::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr SignalOrder kFirstOrder{0, SIGTERM, SignalOrder::Scope::kProcess};
constexpr SignalOrder kSecondOrder{1, SIGTERM, SignalOrder::Scope::kProcess};
constexpr SignalOrder kInterrupt{0, SIGINT, SignalOrder::Scope::kGroup};

class SlurmSignalFilterTest : public testing::Test {
 protected:
  SlurmSignalFilter notices_;
  Time now_{100s};
};

TEST_F(SlurmSignalFilterTest, LaterSlurmSignalReplacesOrder) {
  EXPECT_FALSE(notices_.may_go(kFirstOrder, now_));
  EXPECT_FALSE(notices_.may_go(kInterrupt, now_));
  notices_.came(SIGTERM, now_ + 10ms);
  EXPECT_THAT(notices_.take_due(now_ + 5s), ElementsAre(kInterrupt)) << "another signal";
  EXPECT_EQ(notices_.due(), std::nullopt);
}

TEST_F(SlurmSignalFilterTest, SuppressesOrderSlurmAlreadySent) {
  notices_.came(SIGTERM, now_);
  EXPECT_FALSE(notices_.may_go(kFirstOrder, now_ + 1s));
  EXPECT_THAT(notices_.take_due(now_ + 5s), IsEmpty());
  EXPECT_FALSE(notices_.may_go(kFirstOrder, now_ + 60s)) << "of another occasion";
  EXPECT_THAT(notices_.take_due(now_ + 70s), ElementsAre(kFirstOrder));
}

TEST_F(SlurmSignalFilterTest, OrdersGoIfSlurmSaysNothing) {
  EXPECT_FALSE(notices_.may_go(kFirstOrder, now_));
  EXPECT_FALSE(notices_.may_go(kSecondOrder, now_ + 100ms));
  const Time due = *notices_.due();
  EXPECT_GT(due, now_);
  EXPECT_THAT(notices_.take_due(due - 1ns), IsEmpty());
  EXPECT_THAT(notices_.take_due(due), ElementsAre(kFirstOrder));
  EXPECT_EQ(notices_.due(), due + 100ms);
}

TEST_F(SlurmSignalFilterTest, SigkillIsNotDelayed) {
  notices_.came(SIGKILL, now_);
  EXPECT_TRUE(notices_.may_go({0, SIGKILL, SignalOrder::Scope::kGroup}, now_));
}

}  // namespace
}  // namespace stretto::launch
