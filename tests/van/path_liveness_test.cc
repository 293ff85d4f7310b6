// SPDX-License-Identifier: Apache-2.0
// When a path counts as dead, in virtual time: kernel samples of silent, slow and idle paths, and
// of paths to a suspended peer.
#include "van/transport/path_liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

constexpr Duration kLimit = 5s;

class PathLivenessTest : public testing::Test {
 protected:
  /// Samples every half second for `length`; `change` makes each sample. Returns an error once the
  /// path is dead.
  template <typename Change>
  Status look_for(Duration length, const Change& change) {
    Status status;
    for (const Time end = now_ + length; now_ < end && status.ok(); now_ += 500ms) {
      change(signs_);
      status = liveness_.look(signs_, now_, kLimit);
    }
    return status;
  }
  Duration passed() const { return now_ - kBegan; }

  static constexpr Time kBegan{100s};
  Time now_ = kBegan;
  PathSample signs_;
  PathLiveness liveness_;
};

TEST_F(PathLivenessTest, AnIdlePathThatAnswersLives) {
  const auto asked_now_and_then = [](PathSample& signs) {
    signs.silence = signs.silence == 0ms ? 1s : 0ms;
    signs.unanswered = signs.silence == 0ms ? 0 : 1;
  };
  EXPECT_TRUE(look_for(1h, asked_now_and_then).ok());
}

TEST_F(PathLivenessTest, IncompleteMessageEndsPath) {
  const Status status = look_for(1min, [](PathSample& signs) { signs.begun_at = 700; });
  EXPECT_EQ(status.code(), Code::kLinkBroken);
  EXPECT_THAT(status.cause(), HasSubstr("in part, and not its rest for 5.0 s"));
  EXPECT_EQ(passed(), 5s + 500ms);
}

TEST_F(PathLivenessTest, AMessageThatComesSlowlyDoesNot) {
  EXPECT_TRUE(look_for(1h, [](PathSample& signs) { signs.begun_at += 1; }).ok());
  EXPECT_TRUE(look_for(1h, [](PathSample& signs) { signs.begun_at = 0; }).ok());
}

TEST_F(PathLivenessTest, UnprobedPathMayStaySilent) {
  EXPECT_TRUE(look_for(1h, [](PathSample& signs) { signs.silence += 500ms; }).ok());
}

TEST_F(PathLivenessTest, SilenceThoughWeAskedEndsItAtTheLimit) {
  const Status status = look_for(1min, [](PathSample& signs) {
    signs.silence += 500ms;
    if (signs.silence > 1s) ++signs.unanswered;
  });
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.cause(), HasSubstr("nothing has come over the connection for 5.0 s"));
  EXPECT_EQ(passed(), 5s);
}

TEST_F(PathLivenessTest, OneAnswerThatIsLateIsNotSilence) {
  const auto asked_once = [](PathSample& signs) {
    signs.silence += 500ms;
    signs.unanswered = 1;
  };
  EXPECT_TRUE(look_for(1min, asked_once).ok()) << "a far end that reads nothing is asked rarely";
}

TEST_F(PathLivenessTest, LargePacketLossEndsPathDespiteSmallOnes) {
  const auto small_ones_come = [](PathSample& signs) {
    signs.unacked = true;
    signs.silence = 10ms;
    ++signs.unanswered;
  };
  const Status status = look_for(1min, small_ones_come);
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.cause(), HasSubstr("are large packets lost"));
  EXPECT_LE(passed(), 6s);
}

TEST_F(PathLivenessTest, ASlowPathLivesWhileAnyByteIsAcknowledged) {
  int looks = 0;
  const auto a_byte_in_four_seconds = [&](PathSample& signs) {
    signs.unacked = true;
    if (++looks % 8 == 0) ++signs.acked_bytes;
  };
  EXPECT_TRUE(look_for(1h, a_byte_in_four_seconds).ok());
}

TEST_F(PathLivenessTest, FullAcknowledgmentRestartsTimeout) {
  int looks = 0;
  const auto at_times_nothing_is_under_way = [&](PathSample& signs) {
    signs.unacked = ++looks % 8 != 0;
  };
  EXPECT_TRUE(look_for(1h, at_times_nothing_is_under_way).ok());
}

TEST_F(PathLivenessTest, OwnStallRestartsTimeout) {
  const auto stuck = [](PathSample& signs) { signs.unacked = true; };
  EXPECT_TRUE(look_for(4s, stuck).ok());
  now_ += 1h;
  EXPECT_TRUE(look_for(4s, stuck).ok());
  EXPECT_FALSE(look_for(2s, stuck).ok());
}

TEST_F(PathLivenessTest, IsLookedAtOftenEnoughForItsLimit) {
  EXPECT_EQ(PathLiveness::interval(5s), 500ms);
  EXPECT_EQ(PathLiveness::interval(1s), 100ms);
  EXPECT_EQ(PathLiveness::interval(1h), 500ms) << "longer ones would look like standing still";
  EXPECT_EQ(PathLiveness::interval(1ms), 10ms);
}

}  // namespace
}  // namespace stretto
