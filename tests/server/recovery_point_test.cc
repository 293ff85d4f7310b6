// SPDX-License-Identifier: Apache-2.0
// From which round a part goes on, for all that workers may say.
#include "server/recovery/recovery_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

RecoveryReport has(std::uint64_t round) {
  return {.finished = round, .round = round, .version = round};
}

const Contributors kGroup({{10, 0}, {11, 1}, {12, 2}});

TEST(Recovery, NoFinishedRoundNeedsNoHolder) {
  const RecoveryPoint made = resumption_of({{10, {}}, {11, {}}}, 3, kGroup);
  EXPECT_TRUE(made.why.ok());
  EXPECT_EQ(made.finished, 0U);
  EXPECT_EQ(made.holder, 0U) << "there is no value that anybody could have";
}

TEST(Recovery, AlternatesHoldersOfLastValue) {
  std::set<NodeId> holders;
  for (const std::uint32_t turn : {0U, 1U, 2U, 3U}) {
    const RecoveryPoint made =
        resumption_of({{10, has(5)}, {11, has(4)}, {12, has(5)}}, turn, kGroup);
    ASSERT_TRUE(made.why.ok());
    EXPECT_EQ(made.finished, 5U);
    EXPECT_EQ(made.version, 5U);
    holders.insert(made.holder);
  }
  EXPECT_EQ(holders, (std::set<NodeId>{10, 12})) << "by turns";
}

TEST(Recovery, ARoundMayHaveMadeNoVersion) {
  const RecoveryPoint made = resumption_of(
      {{10, {.finished = 5, .round = 5, .version = 3}}, {11, {.finished = 5}}}, 0, kGroup);
  EXPECT_EQ(made.finished, 5U);
  EXPECT_EQ(made.version, 3U);
  EXPECT_EQ(made.holder, 10U);
}

TEST(Recovery, AnOlderValueIsNoneOfTheLastRound) {
  const RecoveryPoint made = resumption_of(
      {{10, {.finished = 5, .round = 3, .version = 3}}, {11, {.finished = 5}}}, 0, kGroup);
  EXPECT_EQ(made.why.code(), Code::kServerLost);
  EXPECT_THAT(made.why.cause(), HasSubstr("nobody has asked for the value of round 5"));
}

TEST(Recovery, OwedContributionIsLostIfRoundIsUnknown) {
  const RecoveryReport owed{.finished = 4, .round = 4, .version = 4, .owed = true};
  EXPECT_TRUE(resumption_of({{10, has(5)}, {11, owed}}, 0, kGroup).why.ok());
  const RecoveryPoint made = resumption_of({{10, has(4)}, {11, owed}}, 0, kGroup);
  EXPECT_EQ(made.why.code(), Code::kServerLost);
  EXPECT_THAT(made.why.cause(), HasSubstr("what worker 1 contributed to round 5"));
}

TEST(Recovery, RejectsWorkerTwoRoundsBehind) {
  EXPECT_THAT(resumption_of({{10, has(5)}, {11, has(3)}}, 0, kGroup).why.cause(),
              HasSubstr("worker 1 has seen 3 rounds end and another one 5"));
}

}  // namespace
}  // namespace stretto
