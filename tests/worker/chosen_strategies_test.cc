// SPDX-License-Identifier: Apache-2.0
// Which plans are told, and when.
#include "worker/peer_path/chosen_strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using control::Chosen;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChosenStrategies, AreToldWhenTheyChange) {
  ChosenStrategies ways;
  EXPECT_THAT(ways.take(), IsEmpty());
  ways.set(1, 100, "ring", "ring: 1 ms");
  EXPECT_THAT(ways.take(), ElementsAre(Chosen{"ring", 1, 100, "ring: 1 ms"}));
  ways.set(1, 100, "ring", "ring: 2 ms");
  EXPECT_THAT(ways.take(), IsEmpty()) << "the same plan";
  ways.set(1, 100, "direct", "direct: 3 ms");
  EXPECT_THAT(ways.take(), ElementsAre(Chosen{"direct", 1, 100, "direct: 3 ms"}));
}

TEST(ChosenStrategies, MergesTensorsByPlanWithLargestReason) {
  ChosenStrategies ways;
  ways.set(1, 100, "ring", "of 100");
  ways.set(2, 300, "ring", "of 300");
  ways.set(3, 200, "ring", "of 200");
  ways.set(4, 1000, "direct", "of 1000");
  EXPECT_THAT(ways.take(),
              ElementsAre(Chosen{"direct", 1, 1000, "of 1000"}, Chosen{"ring", 3, 600, "of 300"}));
}

TEST(ChosenStrategies, NoMoreThanAHeartbeatCarries) {
  ChosenStrategies ways;
  for (std::uint32_t tensor = 0; tensor < 100; ++tensor) {
    ways.set(tensor, tensor, std::to_string(tensor) + std::string(1000, 'p'),
             std::string(1000, 'w'));
  }
  const std::vector<Chosen> told = ways.take();
  ASSERT_EQ(told.size(), control::Heartbeat::kMostChosen);
  EXPECT_EQ(told.front().bytes, 99U);
  EXPECT_LE(told.front().plan.size(), Chosen::kMaxPlanBytes + 3);
  EXPECT_LE(told.front().why.size(), Chosen::kMaxWhyBytes + 3);
}

}  // namespace
}  // namespace stretto
