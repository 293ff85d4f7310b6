// SPDX-License-Identifier: Apache-2.0
// A producer that waits for space is woken once there is some, and is woken only once.
#include "input/reader/sample_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/clock.h"
#include "common/threads/interruptible.h"

namespace stretto::input {
namespace {

class OutletTest : public ::testing::Test {
 protected:
  OutletTest() {
    outlet_.on_room([this] { ++woken_; });
  }

  /// The engine has used `cost` for a sample, and delivers it.
  void put(std::uint64_t cost, Item::Kind kind = Item::Kind::kSample) {
    outlet_.use(static_cast<std::int64_t>(cost));
    std::vector<Item> items(1);
    items.front().kind = kind;
    items.front().cost = cost;
    outlet_.put(items);
    EXPECT_TRUE(items.empty());
  }

  SteadyClock clock_;
  Meter meter_{clock_.now()};
  SampleQueue outlet_{100, clock_, meter_};
  int woken_ = 0;
};

TEST_F(OutletTest, WakesBlockedProducerAtQuarterFree) {
  for (int i = 0; i < 10; ++i) put(10);
  EXPECT_FALSE(outlet_.room_for(1));
  outlet_.take();
  outlet_.take();
  EXPECT_EQ(woken_, 0) << "80 of 100 are used: to be woken for each sample costs too much";
  outlet_.take();
  EXPECT_EQ(woken_, 1);
  outlet_.take();
  EXPECT_EQ(woken_, 1);
  EXPECT_TRUE(outlet_.room_for(40));
  EXPECT_FALSE(outlet_.room_for(41));
  outlet_.take();
  EXPECT_EQ(woken_, 2);
}

TEST_F(OutletTest, DoesNotWakeUnblockedProducer) {
  for (int i = 0; i < 10; ++i) put(10);
  EXPECT_TRUE(outlet_.room_for(0));
  for (int i = 0; i < 10; ++i) outlet_.take();
  EXPECT_EQ(woken_, 0);
}

TEST_F(OutletTest, WakesFarAheadProducerAtEpochEnd) {
  put(0, Item::Kind::kEpochEnd);
  EXPECT_FALSE(outlet_.far_ahead(0));
  EXPECT_TRUE(outlet_.far_ahead(1));
  EXPECT_EQ(outlet_.take()->kind, Item::Kind::kEpochEnd);
  EXPECT_EQ(woken_, 1);
  EXPECT_FALSE(outlet_.far_ahead(1));
}

TEST_F(OutletTest, InterruptionEndsWaitAndLosesNothing) {
  int looks = 0;
  {
    const Interruptible ends([&looks] { return ++looks < 2; });
    EXPECT_FALSE(outlet_.take());
  }
  EXPECT_EQ(looks, 2);
  put(10);
  const Interruptible ends([] { return false; });
  ASSERT_TRUE(outlet_.take()) << "it need not wait";
}

}  // namespace
}  // namespace stretto::input
