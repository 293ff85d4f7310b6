// SPDX-License-Identifier: Apache-2.0
// A shard's long waits, in few words.
#include "server/monitoring/stalled_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StalledRoundsTest, PartsOfATensorAreOneWait) {
  StalledRounds waits;
  waits.add("a", 7, 2s, {1});
  waits.add("a", 8, 5s, {3, 1});
  waits.add("b", 4, 9s, {2});
  const std::vector<control::LongWait> told = waits.told();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].tensor, "b");
  EXPECT_EQ(told[0].tensors, 2U);
  EXPECT_EQ(told[1].tensor, "a");
  EXPECT_EQ(told[1].round, 8U);
  EXPECT_EQ(told[1].age, 5s);
  EXPECT_THAT(told[1].ranks, ElementsAre(1, 3));
  EXPECT_EQ(told[1].workers, 2U);
}

TEST(StalledRoundsTest, IgnoresShortWaitsAndWaitsForNoWorker) {
  StalledRounds waits;
  waits.add("a", 1, 999ms, {1});
  waits.add("b", 1, 5s, {});
  EXPECT_THAT(waits.told(), IsEmpty());
}

TEST(StalledRoundsTest, ManyAreCountedAndFewAreTold) {
  StalledRounds waits;
  std::vector<Rank> all;
  for (Rank rank = 0; rank < 100; ++rank) all.push_back(rank);
  for (int i = 0; i < 50; ++i) waits.add("t" + std::to_string(i), 1, 1s + i * 1ms, all);
  const std::vector<control::LongWait> told = waits.told();
  ASSERT_EQ(told.size(), 8U);
  EXPECT_EQ(told[0].tensor, "t49");
  EXPECT_EQ(told[0].tensors, 50U);
  EXPECT_EQ(told[0].ranks.size(), 8U);
  EXPECT_EQ(told[0].workers, 100U);
}

}  // namespace
}  // namespace stretto
