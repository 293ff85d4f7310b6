// SPDX-License-Identifier: Apache-2.0
// When a peer is asked for its received counts, and when frames count as lost, in virtual time.
#include <gtest/gtest.h>

#include "van/fabric/delivery_probe.h"

namespace stretto::fabric {
namespace {

constexpr Duration kLimit = 15s;

class DeliveryProbeTest : public testing::Test {
 protected:
  /// Looks after another 500 ms; true if the peer should be asked.
  bool look() {
    now_ += 500ms;
    return delivery_.look(counts_, now_);
  }
  /// Looks for that long, while the peer answers each probe with `came`.
  bool lost_though_answered(std::uint64_t came) {
    for (const Time end = now_ + kLimit; now_ <= end + 1s;) {
      if (look()) delivery_.heard(came, true);
    }
    return delivery_.lost_for(kLimit, now_);
  }

  Time now_{100s};
  DeliveryProbe::Counts counts_;
  DeliveryProbe delivery_;
};

TEST_F(DeliveryProbeTest, DoesNotProbeWhileNoFrameIsOwed) {
  EXPECT_FALSE(look());
  counts_ = {.handed = 5, .taken = 5};
  look();
  EXPECT_FALSE(look());
}

TEST_F(DeliveryProbeTest, DoesNotProbeWhileFramesAreTaken) {
  for (int i = 0; i < 100; ++i) {
    counts_.handed += 2;
    counts_.taken += 1;
    EXPECT_FALSE(look());
  }
}

TEST_F(DeliveryProbeTest, WhereFramesStandStillTheFarEndIsAskedOnce) {
  counts_ = {.handed = 1};
  EXPECT_FALSE(look()) << "it has just been submitted";
  EXPECT_TRUE(look());
  EXPECT_FALSE(look()) << "it has yet to answer";
}

TEST_F(DeliveryProbeTest, WhereAFetchStandsStillTheFarEndIsAsked) {
  counts_ = {.fetching = 1};
  look();
  EXPECT_TRUE(look());
}

TEST_F(DeliveryProbeTest, DoesNotProbeAgainForArrivedFrames) {
  counts_ = {.handed = 3};
  look();
  ASSERT_TRUE(look());
  delivery_.heard(3, true);
  EXPECT_FALSE(look());
  EXPECT_FALSE(delivery_.lost_for(0s, now_));
}

TEST_F(DeliveryProbeTest, FramesMissingAtAnsweringPeerAreLost) {
  counts_ = {.handed = 3};
  EXPECT_TRUE(lost_though_answered(2));
}

TEST_F(DeliveryProbeTest, AFarEndThatDoesNotAnswerHasLostNothing) {
  counts_ = {.handed = 3};
  look();
  ASSERT_TRUE(look());
  now_ += 1h;
  look();
  EXPECT_FALSE(delivery_.lost_for(kLimit, now_)) << "it may be busy, or stopped";
}

TEST_F(DeliveryProbeTest, LateFramesAreNotLost) {
  counts_ = {.handed = 100};
  for (std::uint64_t came = 0; came < 100; ++came) {
    for (int i = 0; i < 20; ++i) {
      if (look()) delivery_.heard(came, true);
      EXPECT_FALSE(delivery_.lost_for(kLimit, now_));
    }
  }
}

TEST_F(DeliveryProbeTest, WhileAnythingElseMovesNothingIsLost) {
  counts_ = {.handed = 3};
  for (int i = 0; i < 1000; ++i) {
    if (look()) delivery_.heard(2, true);
    if (i % 20 == 0) ++counts_.fetched;
    EXPECT_FALSE(delivery_.lost_for(kLimit, now_));
  }
}

TEST_F(DeliveryProbeTest, WordsThatOnlyAskAreNoAnswers) {
  counts_ = {.handed = 3};
  look();
  ASSERT_TRUE(look());
  delivery_.heard(2, false);
  EXPECT_FALSE(delivery_.lost_for(0s, now_));
}

}  // namespace
}  // namespace stretto::fabric
