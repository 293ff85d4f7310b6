// SPDX-License-Identifier: Apache-2.0
// The least and the most, against a look at everybody.
#include "server/aggregation/round_counts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/random.h"

namespace stretto {
namespace {

TEST(RoundCounts, BeginWithNoRounds) {
  const RoundCounts counts(2);
  EXPECT_EQ(counts.workers(), 2U);
  EXPECT_EQ(counts.of(1), 0U);
  EXPECT_EQ(counts.least(), 0U);
  EXPECT_EQ(counts.most(), 0U);
}

TEST(RoundCounts, LeastEqualsMostOnceAllLeave) {
  RoundCounts counts(2);
  counts.advance(0);
  counts.leave(1);
  counts.leave(1);
  EXPECT_EQ(counts.least(), 1U);
  counts.advance(1);
  counts.advance(1);
  EXPECT_EQ(counts.least(), 1U) << "who has left counts for the most only";
  EXPECT_EQ(counts.most(), 2U);
  counts.leave(0);
  EXPECT_EQ(counts.least(), 2U);
}

TEST(RoundCounts, CountsMatchFullScan) {
  sim::Random random(11);
  for (int job = 0; job < 100; ++job) {
    const auto workers = static_cast<std::uint32_t>(1 + random.below(9));
    RoundCounts counts(workers);
    std::vector<std::uint64_t> rounds(workers);
    std::vector<bool> left(workers);
    for (int i = 0; i < 100; ++i) {
      const auto rank = static_cast<Rank>(random.below(workers));
      if (random.below(40) == 0) {
        counts.leave(rank);
        left[rank] = true;
      } else {
        counts.advance(rank);
        ++rounds[rank];
      }
      const std::uint64_t most = *std::ranges::max_element(rounds);
      std::uint64_t least = most;
      bool stays = false;
      for (Rank other = 0; other < workers; ++other) {
        if (left[other]) continue;
        least = std::min(least, rounds[other]);
        stays = true;
      }
      ASSERT_EQ(counts.most(), most);
      ASSERT_EQ(counts.least(), stays ? least : most);
      ASSERT_EQ(counts.of(rank), rounds[rank]);
    }
  }
}

}  // namespace
}  // namespace stretto
