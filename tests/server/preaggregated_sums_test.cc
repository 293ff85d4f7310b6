// SPDX-License-Identifier: Apache-2.0
// Preaggregated sums: each counts as a contribution of all its contributors.
#include <gmock/gmock.h>

#include "tests/server/part_fixture.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Floats = std::vector<float>;

class PreaggregatedSumsTest : public PartFixture {};

TEST_F(PreaggregatedSumsTest, ASumCountsForEachOfItsMakers) {
  make(4, {.update = {.rule = Rule::kMean}});
  for (std::uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(share(2, Floats{1, 1}).ok());
    ASSERT_TRUE(sum_of({3, 0}, round, {10, 20}).ok());
    EXPECT_EQ(rounds().awaited(), std::vector<NodeId>{fake::node_of(1)});
    ASSERT_TRUE(share(1, Floats{5, 3}).ok());
    EXPECT_THAT(value(), ElementsAre(4, 6));
    EXPECT_EQ(held().version, round);
    EXPECT_EQ(held().contributors, 4U);
  }
}

TEST_F(PreaggregatedSumsTest, ASumOfAllIsARound) {
  make(3);
  ASSERT_TRUE(sum_of({0, 1, 2}, 1, {7, 8}).ok());
  EXPECT_THAT(value(), ElementsAre(7, 8));
  ASSERT_TRUE(sum_of({0, 1, 2}, 2, {1, 1}).ok());
  EXPECT_THAT(value(), ElementsAre(1, 1));
}

TEST_F(PreaggregatedSumsTest, OverlappingSumsAreRefused) {
  make(4);
  ASSERT_TRUE(sum_of({0, 1}, 1, {1, 1}).ok());
  EXPECT_THAT(sum_of({1, 2}, 1, {9, 9}).cause(),
              HasSubstr("worker 1 sent a share for its round 1"));
  EXPECT_THAT(sum_of({2, 2}, 1, {9, 9}).cause(), HasSubstr("worker 2 twice"));
  EXPECT_THAT(sum_of({2, 7}, 1, {9, 9}).cause(),
              HasSubstr("the worker of identity 17 contributes to no round"));
  EXPECT_EQ(rounds().rounds_of(fake::node_of(2)), 0U) << "refused shares have no effect";
  ASSERT_TRUE(sum_of({2, 3}, 1, {1, 2}).ok());
  EXPECT_THAT(value(), ElementsAre(2, 3));
}

TEST_F(PreaggregatedSumsTest, ASumIsADuplicateIfAllItsMakersHaveCounted) {
  make(3);
  ASSERT_TRUE(sum_of({0, 1}, 1, {1, 1}).ok());
  const std::vector<NodeId> both = {fake::node_of(0), fake::node_of(1)};
  const std::vector<NodeId> others = {fake::node_of(1), fake::node_of(2)};
  EXPECT_EQ(slot_->admit_sum(*part_, both, 1, 1), Slot::Verdict::kDuplicate);
  EXPECT_EQ(slot_->admit_sum(*part_, both, 2, 1), Slot::Verdict::kApply);
  EXPECT_EQ(slot_->admit_sum(*part_, others, 1, 1), Slot::Verdict::kApply);
  slot_->move(3);
  EXPECT_EQ(slot_->admit_sum(*part_, others, 1, 2), Slot::Verdict::kMoved);
  EXPECT_EQ(slot_->admit(*part_, {fake::node_of(0), part_->key, 1}, 3), Slot::Verdict::kDuplicate);
}

TEST_F(PreaggregatedSumsTest, OnlyCollectedRoundsTakeSums) {
  for (const Mode mode : {Mode::kAsync, Mode::kBounded, Mode::kEagerAsync}) {
    make(2, {.mode = mode, .bound = 1});
    EXPECT_THAT(sum_of({0, 1}, 1, {1, 1}).cause(), HasSubstr("a sum of 2 workers came"));
  }
  make(2);
  EXPECT_FALSE(sum_of({}, 1, {1, 1}).ok());
  make(2, {.mode = Mode::kEager});
  EXPECT_TRUE(sum_of({0, 1}, 1, {1, 1}).ok());
}

TEST_F(PreaggregatedSumsTest, OfAnotherSizeAreRefused) {
  make(3);
  EXPECT_THAT(sum_of({1, 2}, 1, {1, 1, 1}).cause(),
              HasSubstr("worker 1 sent 12 bytes for a part of 8"));
  EXPECT_FALSE(rounds().open());
}

TEST_F(PreaggregatedSumsTest, InRankOrderASumHasTheTurnOfItsFirstMaker) {
  make(4, {.deterministic = true});
  const Floats shares[] = {{1e8F, 0.1F}, {1.0F, 1e-8F}, {-1e8F, 0.7F}};  // The order shows.
  Floats wanted{0, 0};
  for (std::size_t i = 0; i < 2; ++i) wanted[i] = (shares[0][i] + shares[1][i]) + shares[2][i];
  ASSERT_TRUE(share(2, shares[2]).ok());
  ASSERT_TRUE(sum_of({3, 1}, 1, shares[1]).ok());
  ASSERT_TRUE(share(0, shares[0]).ok());
  EXPECT_EQ(value(), wanted);
}

}  // namespace
}  // namespace stretto
