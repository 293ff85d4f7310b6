// SPDX-License-Identifier: Apache-2.0
// What counts as urgent, and how long that is remembered, with a given clock.
#include "van/pacing/urgency_detector.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

class UrgencyDetectorTest : public testing::Test {
 protected:
  void bulk(std::int32_t priority) { urgency_.note({priority}, true, 100'000, now_); }
  void send(std::int32_t priority, Time deadline = Time::max()) {
    urgency_.note({priority, deadline}, false, 100, now_);
  }
  bool lasts() const { return urgency_.lasts(now_); }
  /// Sends `times` frames, `gap` apart; how long the last one is remembered, to half a second.
  Duration remembered_after(Duration gap, int times) {
    for (int i = 0; i < times; ++i) {
      now_ += gap;
      send(5);
    }
    const Time last = now_;
    while (lasts()) now_ += 500ms;
    return now_ - last;
  }

  UrgencyDetector urgency_;
  Time now_{std::chrono::seconds(100)};
};

TEST_F(UrgencyDetectorTest, NothingIsExpectedUntilSomethingUrgentWasSent) {
  EXPECT_FALSE(lasts());
  bulk(0);
  send(0);
  EXPECT_FALSE(lasts()) << "it asks for nothing that bulk does not";
  send(1);
  EXPECT_TRUE(lasts());
}

TEST_F(UrgencyDetectorTest, FramesThatAskForNothingAreNotUrgent) {
  for (std::int32_t layer = 50; layer > 0; --layer) send(-layer);
  send(0);
  EXPECT_FALSE(lasts());
}

// Undeclared gradients with priorities: the first of them look urgent.
TEST_F(UrgencyDetectorTest, LowBulkMakesNothingUrgent) {
  bulk(-5);
  send(-1);
  send(0);
  EXPECT_FALSE(lasts());
  EXPECT_EQ(urgency_.background().priority, 0);
}

TEST_F(UrgencyDetectorTest, ManyBytesAreNotUrgent) {
  for (int i = 0; i < 40; ++i) {
    urgency_.note({7}, false, 2'000'000, now_);
    now_ += 1ms;
    EXPECT_EQ(lasts(), i < 33) << "64 MiB";
  }
  EXPECT_EQ(urgency_.background().priority, 7);
  send(7);
  EXPECT_FALSE(lasts());
  send(8);
  EXPECT_TRUE(lasts());
}

TEST_F(UrgencyDetectorTest, FewBytesBesideManyAreUrgent) {
  for (int i = 0; i < 1000; ++i) {
    bulk(0);
    urgency_.note({7}, false, 10'000, now_);
    now_ += 1ms;
  }
  EXPECT_TRUE(lasts());
}

TEST_F(UrgencyDetectorTest, PrioritizedGradientsAreNotUrgent) {
  for (std::int32_t layer = 50; layer >= 0; --layer) bulk(-layer);
  EXPECT_FALSE(lasts());
  send(-1);
  EXPECT_FALSE(lasts()) << "a metric amid them is not above all of them";
  send(0);
  EXPECT_FALSE(lasts()) << "the front layer has 0, and so has what asks for nothing";
  send(1);
  EXPECT_TRUE(lasts());
}

TEST_F(UrgencyDetectorTest, AmongEqualsADeadlineIsUrgent) {
  bulk(0);
  send(0, now_ + 1s);
  EXPECT_TRUE(lasts());
}

TEST_F(UrgencyDetectorTest, PrioritizedFrameBeforeBulkIsUrgent) {
  send(0);
  EXPECT_FALSE(lasts());
  send(1);
  EXPECT_TRUE(lasts());
}

TEST_F(UrgencyDetectorTest, BulkOfLongAgoDoesNotCount) {
  bulk(7);
  now_ += 11s;
  bulk(0);
  send(5);
  EXPECT_FALSE(lasts()) << "not long enough ago";
  now_ += 10s;
  bulk(0);
  send(5);
  EXPECT_TRUE(lasts());
  now_ += 100s;
  send(1);
  EXPECT_TRUE(lasts()) << "none is known";
}

TEST_F(UrgencyDetectorTest, ALoneOneIsForgottenSoon) {
  send(5);
  now_ += 999ms;
  EXPECT_TRUE(lasts());
  now_ += 1ms;
  EXPECT_FALSE(lasts());
}

TEST_F(UrgencyDetectorTest, ItBridgesTheGapsThatThereAre) {
  EXPECT_EQ(remembered_after(10ms, 100), 1s);
  urgency_ = {};
  EXPECT_EQ(remembered_after(3s, 3), 6s);
  urgency_ = {};
  EXPECT_EQ(remembered_after(10s, 3), 20s);
}

TEST_F(UrgencyDetectorTest, RareUrgentFramesAreRememberedBriefly) {
  EXPECT_EQ(remembered_after(60s, 10), 1s);
  EXPECT_EQ(remembered_after(1h, 10), 1s);
}

TEST_F(UrgencyDetectorTest, BurstsAreBridgedByTheGapsBetweenThem) {
  for (int burst = 0; burst < 3; ++burst) {
    now_ += 5s;
    EXPECT_EQ(lasts(), burst == 2) << "after two of them the gap is known";
    for (int i = 0; i < 20; ++i, now_ += 1ms) send(5);
  }
}

TEST_F(UrgencyDetectorTest, TellsTheHighestPriorityWhileItLasts) {
  send(5);
  send(9);
  send(7);
  EXPECT_EQ(urgency_.priority(), 9);
  now_ += 2s;
  send(7);
  EXPECT_EQ(urgency_.priority(), 7);
}

TEST_F(UrgencyDetectorTest, LongGapsOfLongAgoAreForgotten) {
  EXPECT_EQ(remembered_after(8s, 3), 16s);
  EXPECT_EQ(remembered_after(20ms, 10'000), 1s);
}

}  // namespace
}  // namespace stretto
