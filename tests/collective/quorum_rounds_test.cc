// SPDX-License-Identifier: Apache-2.0
// Rounds that close before all have contributed: the round that each contribution counts in, the
// contributors waited for, and the delay beyond which a contributor is late.
#include "collective/quorum_rounds.h"

#include <gtest/gtest.h>

namespace stretto::collective {
namespace {

using namespace std::chrono_literals;
using Use = QuorumRounds::Use;

constexpr Time kBegin = Time(1h);

// Rounds in which all contribute, 1 ms apart: at 0, 1, 2, 3 ms.
QuorumRounds usual(std::uint32_t places, const CloseOptions& close, std::uint64_t rounds) {
  QuorumRounds made(places, close);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const Time begin = kBegin + round * 1s;
    for (std::uint32_t place = 0; place < places; ++place) {
      EXPECT_EQ(made.come(place, round, begin + place * 1ms).or_exit(), Use::kAdd);
    }
    EXPECT_EQ(made.closes_at(), Time::min());
    made.close();
  }
  return made;
}

TEST(QuorumRounds, WaitsForAllUntilUsualTimesAreKnown) {
  QuorumRounds rounds(4, {.quorum = 3});
  for (std::uint32_t place = 0; place < 3; ++place) {
    ASSERT_TRUE(rounds.come(place, 1, kBegin).ok());
  }
  EXPECT_EQ(rounds.closes_at(), Time::max());
  EXPECT_EQ(rounds.awaited(), std::vector<std::uint32_t>{3});
  ASSERT_TRUE(rounds.come(3, 1, kBegin + 10s).ok());
  EXPECT_EQ(rounds.closes_at(), Time::min());
}

TEST(QuorumRounds, ClosesQuorumOnceOthersExceedScatter) {
  QuorumRounds rounds = usual(4, {.quorum = 3}, 10);
  const Time begin = kBegin + 1h;
  ASSERT_TRUE(rounds.come(0, 11, begin).ok());
  ASSERT_TRUE(rounds.come(3, 11, begin + 1ms).ok());
  EXPECT_EQ(rounds.closes_at(), Time::max());
  ASSERT_TRUE(rounds.come(2, 11, begin + 2ms).ok());
  // The second and third of a round arrived after 1 and 2 ms: the median is 2 ms, and the deviation
  // 0 or 1 ms.
  EXPECT_GE(rounds.closes_at(), begin + 2ms);
  EXPECT_LE(rounds.closes_at(), begin + 6ms);
}

TEST(QuorumRounds, LateContributionJoinsOpenRoundOrIsDropped) {
  for (const Late late : {Late::kNext, Late::kOwn, Late::kDrop}) {
    QuorumRounds rounds = usual(4, {.quorum = 3, .late = late}, 10);
    for (std::uint32_t place = 0; place < 3; ++place) {
      ASSERT_TRUE(rounds.come(place, 11, kBegin + 1h).ok());
    }
    rounds.close();
    EXPECT_EQ(rounds.open(), 12U);
    const auto use = rounds.come(3, 11, kBegin + 1h + 1s);
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(*use, late == Late::kNext ? Use::kAdd : Use::kDrop);
    EXPECT_TRUE(rounds.in().empty()) << "its contribution to round 12 is yet to come";
    EXPECT_EQ(rounds.come(3, 12, kBegin + 1h + 1s).or_exit(), Use::kAdd);
  }
}

TEST(QuorumRounds, SkipsStragglerMissingPreviousRound) {
  QuorumRounds rounds = usual(4, {.quorum = 3}, 10);
  for (std::uint64_t round = 11; round <= 12; ++round) {
    for (std::uint32_t place = 0; place < 3; ++place) {
      ASSERT_TRUE(rounds.come(place, round, kBegin + round * 1h).ok());
    }
    if (round == 11) {
      EXPECT_GE(rounds.closes_at(), kBegin + round * 1h);
      rounds.close();
    }
  }
  EXPECT_EQ(rounds.closes_at(), Time::min());
  ASSERT_TRUE(rounds.come(3, 11, kBegin + 20h).ok());  // Now it may be in time.
  EXPECT_GT(rounds.closes_at(), Time::min());
}

TEST(QuorumRounds, WaitsForStragglerThreeRoundsBehind) {
  QuorumRounds rounds = usual(3, {.quorum = 2}, 10);
  for (std::uint64_t round = 11; round <= 14; ++round) {
    const Time begin = kBegin + round * 1h;
    ASSERT_TRUE(rounds.come(0, round, begin).ok());
    ASSERT_TRUE(rounds.come(1, round, begin).ok());
    if (round < 14) {
      ASSERT_NE(rounds.closes_at(), Time::max()) << round;
      rounds.close();
    }
  }
  EXPECT_EQ(rounds.closes_at(), Time::max());
  ASSERT_TRUE(rounds.come(2, 11, kBegin + 20h).ok());
  EXPECT_NE(rounds.closes_at(), Time::max());
}

TEST(QuorumRounds, WaitsForContributionWithheldThreeRounds) {
  QuorumRounds rounds = usual(3, {.quorum = 2, .late = Late::kOwn}, 10);
  for (std::uint64_t round = 11; round <= 13; ++round) {
    ASSERT_TRUE(rounds.come(0, round, kBegin + round * 1h).ok());
    ASSERT_TRUE(rounds.come(1, round, kBegin + round * 1h).ok());
    rounds.close();
    EXPECT_EQ(rounds.come(2, round, kBegin + round * 1h + 1s).or_exit(), Use::kDrop);
  }
  ASSERT_TRUE(rounds.come(0, 14, kBegin + 20h).ok());
  ASSERT_TRUE(rounds.come(1, 14, kBegin + 20h).ok());
  EXPECT_EQ(rounds.closes_at(), Time::max());
  ASSERT_TRUE(rounds.come(2, 14, kBegin + 21h).ok());
  EXPECT_EQ(rounds.closes_at(), Time::min());
}

TEST(QuorumRounds, OfBackupsTheFirstCounts) {
  // Workers 0 and 2 have the same data, and so have 1 and 3.
  QuorumRounds rounds(4, {.backups = 1});
  EXPECT_EQ(rounds.come(2, 1, kBegin).or_exit(), Use::kAdd);
  EXPECT_EQ(rounds.come(0, 1, kBegin).or_exit(), Use::kDrop);
  EXPECT_EQ(rounds.closes_at(), Time::max());
  EXPECT_EQ(rounds.come(1, 1, kBegin).or_exit(), Use::kAdd);
  EXPECT_EQ(rounds.closes_at(), Time::min());
  rounds.close();
  EXPECT_EQ(rounds.come(3, 1, kBegin).or_exit(), Use::kDrop);
  EXPECT_EQ(rounds.come(3, 2, kBegin).or_exit(), Use::kAdd);
}

TEST(QuorumRounds, ContributionsMayOvertakeOneAnother) {
  QuorumRounds rounds = usual(3, {.quorum = 2}, 10);
  for (std::uint64_t round = 11; round <= 12; ++round) {
    ASSERT_TRUE(rounds.come(0, round, kBegin + round * 1h).ok());
    ASSERT_TRUE(rounds.come(1, round, kBegin + round * 1h).ok());
    rounds.close();
  }
  EXPECT_EQ(rounds.come(2, 12, kBegin + 20h).or_exit(), Use::kAdd);
  EXPECT_EQ(rounds.come(2, 11, kBegin + 20h).or_exit(), Use::kAdd);
  EXPECT_EQ(rounds.come(2, 13, kBegin + 20h).or_exit(), Use::kAdd);
}

TEST(QuorumRounds, WaitsForMissingRoundDespiteLaterOnes) {
  QuorumRounds rounds = usual(3, {.quorum = 2}, 10);
  for (std::uint64_t round = 11; round <= 14; ++round) {
    for (std::uint32_t place = 0; place < 3; ++place) {
      if (place == 2 && round == 11) continue;
      ASSERT_TRUE(rounds.come(place, round, kBegin + round * 1h).ok());
    }
    if (round < 14) rounds.close();
  }
  EXPECT_EQ(rounds.closes_at(), Time::max());
  EXPECT_EQ(rounds.come(2, 11, kBegin + 20h).or_exit(), Use::kAdd);
  EXPECT_EQ(rounds.closes_at(), Time::min());
}

TEST(QuorumRounds, RejectsInvalidContributionWithoutEffect) {
  QuorumRounds rounds(3, {.quorum = 2});
  EXPECT_EQ(rounds.come(1, 0, kBegin).status().code(), Code::kMalformed);
  EXPECT_EQ(rounds.come(1, 2, kBegin).status().code(), Code::kMalformed);
  ASSERT_TRUE(rounds.come(1, 1, kBegin).ok());
  EXPECT_EQ(rounds.come(1, 1, kBegin).status().code(), Code::kMalformed);
  EXPECT_EQ(rounds.in().size(), 1U);
}

TEST(UsualArrivals, LimitFollowsMedianAndDeviation) {
  UsualArrivals usual;
  for (int i = 0; i < 7; ++i) usual.add(10ms);
  EXPECT_EQ(usual.limit(), Duration::max());
  usual.add(10ms);
  EXPECT_EQ(usual.limit(), 10ms);
  for (int i = 0; i < 3; ++i) usual.add(10s);  // A few outliers do not move it.
  EXPECT_EQ(usual.limit(), 10ms);
  for (int i = 0; i < 64; ++i) usual.add(i % 2 == 0 ? 10ms : 14ms);
  EXPECT_GT(usual.limit(), 14ms);
  EXPECT_LE(usual.limit(), 30ms);
}

TEST(UsualArrivals, LimitIsNeverBelowWakeupLatency) {
  UsualArrivals usual;
  for (int i = 0; i < 20; ++i) usual.add(1us);
  EXPECT_EQ(usual.limit(), 500us);
}

}  // namespace
}  // namespace stretto::collective
