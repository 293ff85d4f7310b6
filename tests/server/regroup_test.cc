// SPDX-License-Identifier: Apache-2.0
// Changes of contributors during rounds: lost workers are removed from the open round, new ones
// count from their first round, and every sum is over its contributors.
#include <gmock/gmock.h>

#include "tests/server/part_fixture.h"
#include "tests/sim/random.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RegroupTest : public PartFixture {
 protected:
  void make_kept(std::uint32_t workers, const TensorOptions& options = {}) {
    spec_ = fake::spec("x", Dtype::kF32, 2, options);
    slot_.emplace(0, 0);
    part_ = &add_part(*slot_, spec_, workers, {1, 0}, Aggregator::Shares::kKept);
  }
  /// As the root of a broadcast by the ranks of a different epoch.
  Status assign_by(std::uint32_t view, Rank rank, const std::vector<float>& numbers) {
    return contribute({.worker = fake::node_of(rank),
                       .round = next(rank),
                       .assign = true,
                       .root = rank,
                       .root_view = view,
                       .bytes = fake::bytes_of(numbers)});
  }
  /// Regroups to these ranks from a round on; returns the error, if any.
  Status regroup(const std::vector<Rank>& ranks, std::uint64_t from_round = 0,
                 const std::set<NodeId>& gone = {}) {
    std::vector<Contributor> all;
    for (const Rank rank : ranks) all.push_back({fake::node_of(rank), rank});
    const auto stuck = slot_->regroup(make_group(std::move(all)), from_round, gone);
    slot_->release(slot_->appended());
    EXPECT_TRUE(slot_->consistent());
    return stuck.empty() ? Status() : stuck.front().second;
  }
};

TEST_F(RegroupTest, RemakesOpenRoundWithoutLostWorker) {
  make_kept(3);
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(share(1, {10, 10}).ok());
  ASSERT_TRUE(regroup({1, 2}, 0, {fake::node_of(0)}).ok());
  EXPECT_EQ(held().version, 0U) << "it waits for worker 2";
  ASSERT_TRUE(share(2, {100, 100}).ok());
  EXPECT_THAT(value(), ElementsAre(110, 110));
  EXPECT_THAT(held().from.nodes(), ElementsAre(11, 12));
}

TEST_F(RegroupTest, RefusesToSplitSumOfLostWorker) {
  make_kept(4);
  ASSERT_TRUE(sum_of({0, 1}, 1, {1, 1}).ok());
  ASSERT_TRUE(share(2, {10, 10}).ok());
  EXPECT_THAT(regroup({1, 2, 3}, 0, {fake::node_of(0)}).cause(),
              HasSubstr("a sum of 2 workers' contributions, of which worker 0 is gone"));
  EXPECT_EQ(held().version, 0U);
}

TEST_F(RegroupTest, ASumGoesWithAllItsMakersAndStaysIfTheyDo) {
  make_kept(5);
  ASSERT_TRUE(sum_of({0, 1}, 1, {1, 1}).ok());
  ASSERT_TRUE(sum_of({3, 4}, 1, {100, 100}).ok());
  ASSERT_TRUE(regroup({2, 3, 4}, 0, {fake::node_of(0), fake::node_of(1)}).ok());
  ASSERT_TRUE(share(2, {10, 10}).ok());
  EXPECT_THAT(value(), ElementsAre(110, 110));
  EXPECT_EQ(held().contributors, 3U);
}

TEST_F(RegroupTest, ListenerNeverCountsAsContributor) {
  const auto listen = [&](Rank rank) {
    return contribute({.worker = fake::node_of(rank),
                       .round = next(rank),
                       .absent = true,
                       .listens = true,
                       .bytes = {}});
  };
  make_kept(4);
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(listen(2).ok());
  ASSERT_TRUE(listen(3).ok());
  ASSERT_TRUE(regroup({0, 1, 2}, 0, {fake::node_of(3)}).ok()) << "one that listened is lost";
  ASSERT_TRUE(share(1, {10, 10}).ok());
  EXPECT_THAT(value(), ElementsAre(11, 11));
  EXPECT_EQ(held().contributors, 2U);
  ASSERT_TRUE(listen(2).ok());
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(regroup({1, 2}, 0, {fake::node_of(0)}).ok()) << "one that gave is lost";
  ASSERT_TRUE(listen(1).ok());
  EXPECT_THAT(value(), ElementsAre(0, 0));
  EXPECT_EQ(held().contributors, 0U);
}

TEST_F(RegroupTest, LeavingWorkerStaysInItsRound) {
  make_kept(4);
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(regroup({1, 2}).ok()) << "worker 3 leaves, too, and has not contributed";
  ASSERT_TRUE(share(1, {10, 10}).ok());
  ASSERT_TRUE(regroup({1}, 0, {fake::node_of(2)}).ok()) << "one is lost meanwhile";
  EXPECT_THAT(value(), ElementsAre(11, 11));
  EXPECT_THAT(held().from.nodes(), ElementsAre(10, 11));
  ASSERT_TRUE(share(1, {5, 5}).ok());
  EXPECT_THAT(value(), ElementsAre(5, 5));
}

TEST_F(RegroupTest, DepartureCompletesRoundMissingOnlyLeavers) {
  make_kept(3);
  ASSERT_TRUE(share(2, {100, 100}).ok());
  part_->waiting.add({.worker = 12, .gate = gate_, .since = {}});
  ASSERT_TRUE(regroup({2}).ok());
  EXPECT_THAT(value(), ElementsAre(100, 100));
  EXPECT_THAT(part_->take_ready(), SizeIs(1));
  ASSERT_TRUE(share(2, {5, 5}).ok());
  EXPECT_EQ(held().version, 2U);
}

TEST_F(RegroupTest, LostWaiterIsNotAnswered) {
  make_kept(2);
  ASSERT_TRUE(share(0, {1, 1}).ok());
  part_->waiting.add({.worker = 10, .gate = gate_, .since = {}});
  ASSERT_TRUE(share(1, {2, 2}).ok());
  part_->waiting.add({.worker = 11, .gate = gate_, .since = {}});
  ASSERT_TRUE(regroup({1}, 0, {10}).ok());
  const std::vector<Waiter> ready = part_->take_ready();
  ASSERT_THAT(ready, SizeIs(1));
  EXPECT_EQ(ready[0].worker, 11U);
}

TEST_F(RegroupTest, MeanCoversOnlyItsContributors) {
  make_kept(3, {.update = {.rule = Rule::kMean}});
  ASSERT_TRUE(share(0, {2, 2}).ok());
  ASSERT_TRUE(share(1, {4, 4}).ok());
  ASSERT_TRUE(regroup({0, 1}).ok());
  EXPECT_THAT(value(), ElementsAre(3, 3));
  EXPECT_EQ(held().contributors, 2U);
}

TEST_F(RegroupTest, ANewcomerIsWaitedForFromItsRoundOn) {
  make_kept(1);
  ASSERT_TRUE(regroup({0, 5}, 3).ok());
  ASSERT_TRUE(share(0, {1, 1}).ok());
  EXPECT_THAT(contribute({.worker = fake::node_of(5),
                          .round = 2,
                          .bytes = fake::bytes_of(std::vector<float>{7, 7})})
                  .cause(),
              HasSubstr("the worker of identity 15 contributes to no round"));
  ASSERT_TRUE(share(0, {1, 1}).ok());
  EXPECT_EQ(held().version, 2U);
  ASSERT_TRUE(share(0, {1, 1}).ok());
  EXPECT_EQ(held().version, 2U);
  EXPECT_EQ(next(5), 3U);
  ASSERT_TRUE(share(5, {7, 7}).ok());
  EXPECT_THAT(value(), ElementsAre(8, 8));
  EXPECT_THAT(held().from.nodes(), ElementsAre(10, 15));
}

TEST_F(RegroupTest, LaterRegroupReplacesPendingChange) {
  make_kept(2);
  ASSERT_TRUE(regroup({0, 1, 2}, 5).ok());
  ASSERT_TRUE(regroup({0}).ok()) << "worker 1 is lost, and the newcomer too";
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(share(0, {1, 1}).ok());
  EXPECT_EQ(held().version, 6U);
}

TEST_F(RegroupTest, PendingChangesKeepOrderWithoutLostWorker) {
  make_kept(2);
  ASSERT_TRUE(regroup({0, 1, 2}, 2).ok());
  ASSERT_TRUE(regroup({0, 1, 2, 3}, 3).ok());
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(regroup({0, 2, 3}, 3, {fake::node_of(1)}).ok());
  EXPECT_EQ(held().version, 1U) << "it lacked who is gone";
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(share(2, {10, 10}).ok());
  EXPECT_THAT(held().from.nodes(), ElementsAre(10, 12));
  for (const Rank rank : {0U, 2U}) ASSERT_TRUE(share(rank, {1, 1}).ok());
  EXPECT_EQ(held().version, 2U);
  ASSERT_TRUE(share(3, {5, 5}).ok());
  EXPECT_THAT(value(), ElementsAre(7, 7));
}

TEST_F(RegroupTest, WithoutItsSharesTheOpenRoundCannotBeMadeAgain) {
  for (const bool deterministic : {false, true}) {
    make(2, {.deterministic = deterministic});
    ASSERT_TRUE(share(0, {1, 1}).ok());
    EXPECT_THAT(regroup({1}, 0, {fake::node_of(0)}).cause(),
                HasSubstr("worker 0, which is gone, and shares are not kept"));
    EXPECT_TRUE(regroup({0}).ok()) << "what is in the sum may stay";
    EXPECT_THAT(value(), ElementsAre(1, 1));
  }
}

TEST_F(RegroupTest, RemainingWorkersAreSummedInRankOrder) {
  make(3, {.deterministic = true});
  ASSERT_TRUE(share(0, {1e8F, 1}).ok());
  ASSERT_TRUE(share(2, {1, 1}).ok());
  ASSERT_TRUE(regroup({0, 2, 4}).ok());
  ASSERT_TRUE(share(4, {-1e8F, 1}).ok());
  EXPECT_THAT(value(), ElementsAre((1e8F + 1) - 1e8F, 3));
}

TEST_F(RegroupTest, ABroadcastGoesOnWithoutAReceiver) {
  for (const bool kept : {false, true}) {
    kept ? make_kept(3) : make(3);
    ASSERT_TRUE(attend(1, 0).ok());
    if (!kept) {
      EXPECT_THAT(regroup({1, 2}).cause(), HasSubstr("worker 0 is gone, from which a broadcast"));
    }
    ASSERT_TRUE(regroup({0, 1}).ok());
    ASSERT_TRUE(assign(0, std::vector<float>{3, 4}).ok());
    EXPECT_THAT(value(), ElementsAre(3, 4));
  }
}

TEST_F(RegroupTest, BroadcastWithLostRootMakesNoValue) {
  make_kept(4);
  ASSERT_TRUE(attend(1, 0).ok());
  ASSERT_TRUE(regroup({1, 2, 3}, 0, {fake::node_of(0)}).ok());
  ASSERT_TRUE(attend(2, 0).ok()) << "which has not heard of it";
  ASSERT_TRUE(assign_by(1, 3, {7, 8}).ok()) << "which has";
  EXPECT_TRUE(part_->collector.broadcast().take_made_nothing());
  EXPECT_FALSE(part_->collector.broadcast().take_made_nothing());
  EXPECT_EQ(held().version, 0U);
  EXPECT_EQ(rounds().next_round(), 2U);
  ASSERT_TRUE(attend(1, 2).ok());
  ASSERT_TRUE(attend(3, 2).ok());
  ASSERT_TRUE(assign(2, std::vector<float>{5, 6}).ok());
  EXPECT_FALSE(part_->collector.broadcast().take_made_nothing());
  EXPECT_THAT(value(), ElementsAre(5, 6));
  EXPECT_EQ(held().version, 1U);
}

TEST_F(RegroupTest, LostRootBytesCountOnlyIfOthersAttended) {
  make_kept(3);
  ASSERT_TRUE(assign(0, std::vector<float>{3, 4}).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  ASSERT_TRUE(regroup({1, 2}, 0, {fake::node_of(0)}).ok());
  ASSERT_TRUE(attend(2, 0).ok());
  EXPECT_THAT(value(), ElementsAre(3, 4)) << "all mean it";
  ASSERT_TRUE(assign(1, std::vector<float>{7, 8}).ok());
  ASSERT_TRUE(regroup({2}, 0, {fake::node_of(1)}).ok()) << "nobody else had come";
  ASSERT_TRUE(assign(2, std::vector<float>{5, 6}).ok());
  EXPECT_THAT(value(), ElementsAre(5, 6));
}

TEST_F(RegroupTest, RootsOfDifferentRanksMakeNoValue) {
  make_kept(3);
  ASSERT_TRUE(assign(0, std::vector<float>{3, 4}).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  ASSERT_TRUE(assign_by(1, 2, {7, 8}).ok()) << "worker 0 is lost, which nobody here knows yet";
  EXPECT_TRUE(part_->collector.broadcast().take_made_nothing());
  ASSERT_TRUE(assign(0, std::vector<float>{3, 4}).ok());
  EXPECT_EQ(assign(1, std::vector<float>{5, 6}).code(), Code::kMismatch) << "by the same ranks";
}

TEST_F(RegroupTest, ABroadcastIsDoneForNothingAsItsRootGoesLast) {
  make_kept(3);
  ASSERT_TRUE(share(0, {1, 1}).ok() && share(1, {1, 1}).ok() && share(2, {1, 1}).ok());
  ASSERT_TRUE(attend(1, 0).ok());
  ASSERT_TRUE(attend(2, 0).ok());
  ASSERT_TRUE(regroup({1, 2}, 0, {fake::node_of(0)}).ok());
  EXPECT_TRUE(part_->collector.broadcast().take_made_nothing());
  EXPECT_THAT(value(), ElementsAre(3, 3)) << "as it was";
  ASSERT_TRUE(share(1, {4, 4}).ok() && share(2, {5, 5}).ok());
  EXPECT_THAT(value(), ElementsAre(9, 9));
}

TEST_F(RegroupTest, BoundIgnoresDepartedWorker) {
  make_kept(2, {.mode = Mode::kBounded});
  ASSERT_TRUE(share(0, {1, 1}).ok());
  part_->waiting.add({.worker = 10, .gate = gate_, .since = {}});
  EXPECT_THAT(part_->take_ready(), IsEmpty());
  ASSERT_TRUE(regroup({0, 3}).ok());
  EXPECT_THAT(part_->take_ready(), SizeIs(1));
  EXPECT_EQ(next(3), 2U) << "a newcomer begins where the others are";
}

// A worker that reports a new one has made all rounds before its step, another worker may not have.
// The bound must not wait for rounds that the new worker never makes.
TEST_F(RegroupTest, ANewcomerBeginsWhereTheFastestIs) {
  make_kept(2, {.mode = Mode::kBounded, .bound = 1});
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(share(0, {1, 1}).ok());
  ASSERT_TRUE(share(1, {1, 1}).ok());
  ASSERT_TRUE(regroup({0, 1, 3}).ok());
  EXPECT_EQ(next(3), 3U);
  ASSERT_TRUE(share(1, {1, 1}).ok());
  EXPECT_EQ(part_->collector.rounds().slowest(), 2U);
}

/// In any order of joins and losses each value is the sum over its contributors.
TEST_F(RegroupTest, SumsMatchContributorsInRandomOrders) {
  sim::Random random(5);
  for (int job = 0; job < 100; ++job) {
    make_kept(3);
    for (int i = 0; i < 60; ++i) {
      if (random.chance(0.15)) {
        std::vector<Rank> ranks;
        for (Rank rank = 0; rank < 6; ++rank) {
          if (random.chance(0.5)) ranks.push_back(rank);
        }
        if (ranks.empty()) ranks.push_back(0);
        ASSERT_TRUE(regroup(ranks, random.below(part_->collector.rounds().next_round() + 3)).ok());
      } else {
        const auto rank = static_cast<Rank>(random.below(6));
        (void)share(rank, {static_cast<float>(1 << rank), 1});
      }
      float wanted = 0;
      for (const NodeId node : held().from.nodes()) wanted += static_cast<float>(1 << (node - 10));
      if (held().version > 0) {
        ASSERT_THAT(value(), ElementsAre(wanted, held().contributors));
      }
    }
  }
}

}  // namespace
}  // namespace stretto
