// SPDX-License-Identifier: Apache-2.0
// When contributions count, rounds complete and values are released: sync, bounded, async,
// assignments, and properties for any order of contributions.
#include "server/aggregation/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/group.h"
#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

using fake::node_of;
using testing::ElementsAre;
using testing::HasSubstr;

Consistency make(Mode mode, std::uint32_t workers, std::uint32_t bound = 0) {
  return Consistency({.mode = mode, .bound = bound}, fake::group_of(workers));
}

/// Admits and counts the rank's next contribution.
bool share(Consistency& rounds, Rank rank, bool assign = false) {
  const NodeId worker = node_of(rank);
  EXPECT_TRUE(rounds.admit(worker, rounds.rounds_of(worker) + 1, assign).ok());
  return rounds.contribute(worker, assign).has_value();
}

// ---- eager

TEST(EagerRounds, AreRoundsAndAPullAsksForOnesOwn) {
  Consistency rounds = make(Mode::kEager, 2);
  EXPECT_FALSE(share(rounds, 0));
  EXPECT_TRUE(share(rounds, 1));
  EXPECT_TRUE(rounds.passes(rounds.gate_of_pull(1), 10));
  EXPECT_FALSE(share(rounds, 1));
  EXPECT_FALSE(rounds.passes(rounds.gate_of_pull(2), 11));
  EXPECT_THAT(rounds.awaited(), ElementsAre(10));
}

TEST(EagerAsyncRounds, PullPassesAfterFirstContribution) {
  Consistency rounds = make(Mode::kEagerAsync, 2);
  EXPECT_FALSE(rounds.passes(rounds.gate_of_pull(0), 10)) << "there is no value yet";
  EXPECT_TRUE(share(rounds, 0));
  EXPECT_TRUE(rounds.passes(rounds.gate_of_pull(0), 11));
  EXPECT_EQ(rounds.applied_of(10), 1U);
}

// ---- sync

TEST(SyncRounds, AreDoneWhenAllHaveCome) {
  Consistency rounds = make(Mode::kSync, 3);
  EXPECT_FALSE(share(rounds, 2));
  EXPECT_FALSE(share(rounds, 0));
  EXPECT_TRUE(rounds.open());
  EXPECT_EQ(rounds.version(), 0U);
  EXPECT_THAT(missing_from(rounds), ElementsAre(11));
  EXPECT_TRUE(share(rounds, 1));
  EXPECT_FALSE(rounds.open());
  EXPECT_EQ(rounds.version(), 1U);
  EXPECT_THAT(missing_from(rounds), ElementsAre(10, 11, 12));
}

TEST(SyncRounds, CompletedRoundNamesContributors) {
  Consistency rounds = make(Mode::kSync, 2);
  EXPECT_FALSE(rounds.contribute(11, false).has_value());
  const std::optional<Sources> all = rounds.contribute(10, false);
  ASSERT_TRUE(all.has_value());
  EXPECT_THAT(all->nodes(), ElementsAre(10, 11));
  Consistency alone = make(Mode::kAsync, 2);
  const std::optional<Sources> one = alone.contribute(11, false);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->size(), 1U);
  EXPECT_TRUE(one->contains(11));
}

TEST(SyncRounds, AWorkerCannotCountTwiceInOne) {
  Consistency rounds = make(Mode::kSync, 2);
  share(rounds, 0);
  const Status status = rounds.admit(10, 2, false);
  EXPECT_EQ(status.code(), Code::kMalformed);
  EXPECT_THAT(status.cause(), HasSubstr("worker 0 sent two shares"));
}

TEST(SyncRounds, AShareOfAnotherRoundIsRefusedWithBothNumbers) {
  const Consistency rounds = make(Mode::kSync, 2);
  EXPECT_THAT(rounds.admit(11, 3, false).cause(), HasSubstr("round 3, wanted 1"));
  EXPECT_EQ(rounds.admit(11, 0, false).code(), Code::kMalformed);
}

TEST(SyncRounds, BroadcastsAndPushesDoNotMix) {
  Consistency rounds = make(Mode::kSync, 2);
  share(rounds, 0, true);
  const Status pushes = rounds.admit(11, 1, false);
  EXPECT_EQ(pushes.code(), Code::kMismatch);
  EXPECT_THAT(pushes.cause(), HasSubstr("worker 1 pushes, others broadcast;"));
  EXPECT_TRUE(share(rounds, 1, true));
  share(rounds, 0, false);
  EXPECT_THAT(rounds.admit(11, 2, true).cause(), HasSubstr("worker 1 broadcasts, others push;"));
}

TEST(SyncRounds, TheAnswerToAShareWaitsForItsOwnRound) {
  Consistency rounds = make(Mode::kSync, 2);
  const auto first = rounds.gate_after(false, rounds.contribute(10, false).has_value());
  EXPECT_FALSE(rounds.passes(first, 10));
  const auto last = rounds.gate_after(false, rounds.contribute(11, false).has_value());
  EXPECT_TRUE(rounds.passes(first, 10));
  EXPECT_TRUE(rounds.passes(last, 11)) << "not for the round after it";
  const auto next = rounds.gate_after(false, rounds.contribute(11, false).has_value());
  EXPECT_FALSE(rounds.passes(next, 11));
}

TEST(SyncRounds, APullWaitsForTheRoundItNamesAndForAFirstValue) {
  Consistency rounds = make(Mode::kSync, 1);
  const auto any = rounds.gate_of_pull(0);
  EXPECT_FALSE(rounds.passes(any, 10)) << "there is no value yet";
  share(rounds, 0);
  EXPECT_TRUE(rounds.passes(any, 10));
  EXPECT_FALSE(rounds.passes(rounds.gate_of_pull(2), 10));
  share(rounds, 0);
  EXPECT_TRUE(rounds.passes(rounds.gate_of_pull(2), 10));
}

TEST(SyncRounds, NamesDepartedWorkerAsAbsentee) {
  Consistency rounds = make(Mode::kSync, 3);
  EXPECT_EQ(rounds.absentee(), std::nullopt);
  share(rounds, 2);
  rounds.leave(12);
  EXPECT_EQ(rounds.absentee(), std::nullopt) << "its share for this round has come";
  share(rounds, 0);
  share(rounds, 1);
  EXPECT_EQ(rounds.absentee(), 12U) << "the next round lacks it";
}

// ---- bounded and async

TEST(BoundedRounds, SharesApplyAtOnceAndAnswersKeepTheBound) {
  Consistency rounds = make(Mode::kBounded, 2, 1);
  EXPECT_TRUE(share(rounds, 0));
  EXPECT_EQ(rounds.version(), 1U);
  const auto gate = rounds.gate_after(false, true);
  EXPECT_TRUE(rounds.passes(gate, 10)) << "one ahead of the slowest is within the bound";
  share(rounds, 0);
  EXPECT_FALSE(rounds.passes(gate, 10));
  EXPECT_TRUE(rounds.passes(gate, 11)) << "the slowest never waits";
  share(rounds, 1);
  EXPECT_TRUE(rounds.passes(gate, 10));
}

TEST(BoundedRounds, ABoundOfZeroIsLockstep) {
  Consistency rounds = make(Mode::kBounded, 2, 0);
  share(rounds, 0);
  EXPECT_FALSE(rounds.passes(rounds.gate_after(false, true), 10));
  share(rounds, 1);
  EXPECT_TRUE(rounds.passes(rounds.gate_after(false, true), 10));
}

TEST(BoundedRounds, BoundIgnoresDepartedWorkers) {
  Consistency rounds = make(Mode::kBounded, 3, 0);
  share(rounds, 0);
  share(rounds, 1);
  const auto gate = rounds.gate_after(false, true);
  EXPECT_FALSE(rounds.passes(gate, 10));
  rounds.leave(12);
  EXPECT_TRUE(rounds.passes(gate, 10));
  EXPECT_EQ(rounds.slowest(), 1U);
  rounds.leave(10);
  rounds.leave(11);
  EXPECT_EQ(rounds.slowest(), 1U) << "with nobody left, nobody is slow";
}

TEST(BoundedRounds, PullsKeepTheBoundToo) {
  Consistency rounds = make(Mode::kBounded, 2, 0);
  EXPECT_FALSE(rounds.passes(rounds.gate_of_pull(0), 11)) << "there is no value yet";
  share(rounds, 0);
  EXPECT_TRUE(rounds.passes(rounds.gate_of_pull(0), 11));
  EXPECT_FALSE(rounds.passes(rounds.gate_of_pull(1), 10));
}

TEST(BoundedRounds, AwaitsSlowestWorkers) {
  Consistency rounds = make(Mode::kBounded, 3, 0);
  share(rounds, 0);
  share(rounds, 2);
  EXPECT_THAT(rounds.awaited(), ElementsAre(11));
  rounds.leave(11);
  EXPECT_THAT(rounds.awaited(), ElementsAre(10, 12));
}

TEST(AsyncRounds, GatesNeverWaitForOtherWorkers) {
  Consistency rounds = make(Mode::kAsync, 2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(share(rounds, 0));
    EXPECT_TRUE(rounds.passes(rounds.gate_after(false, true), 10));
  }
  EXPECT_EQ(rounds.version(), 100U);
  EXPECT_EQ(rounds.slowest(), 0U);
  EXPECT_EQ(rounds.spread(), 100U);
  EXPECT_TRUE(rounds.passes(rounds.gate_of_pull(5), 11));
}

TEST(AsyncRounds, AnAssignmentIsCollectedWhileSharesGoOn) {
  Consistency rounds = make(Mode::kAsync, 2);
  EXPECT_TRUE(are_collected(Mode::kAsync, true));
  EXPECT_FALSE(are_collected(Mode::kAsync, false));
  EXPECT_FALSE(share(rounds, 0, true));
  const auto gate = rounds.gate_after(true, false);
  EXPECT_TRUE(share(rounds, 1, false)) << "worker 1 has not come to the broadcast yet";
  EXPECT_FALSE(rounds.passes(gate, 10));
  EXPECT_TRUE(share(rounds, 1, true));
  EXPECT_TRUE(rounds.passes(gate, 10));
  EXPECT_EQ(rounds.version(), 2U);
}

TEST(AsyncRounds, ARoundTooFarAheadIsRefused) {
  const Consistency rounds = make(Mode::kAsync, 1);
  EXPECT_EQ(rounds.admit(10, 2, false).code(), Code::kMalformed);
}

// ---- properties

/// In any order of contributions versions count finished rounds, contributors are sets, and no
/// worker passes a gate early or waits at a gate forever.
TEST(Rounds, HoldForRandomOrders) {
  sim::Random random(3);
  for (int job = 0; job < 200; ++job) {
    const auto workers = static_cast<std::uint32_t>(1 + random.below(5));
    Consistency rounds = make(Mode::kSync, workers);
    std::vector<std::uint64_t> sent(workers);
    for (int i = 0; i < 200; ++i) {
      const auto rank = static_cast<Rank>(random.below(workers));
      const std::uint64_t least = *std::min_element(sent.begin(), sent.end());
      const bool may = sent[rank] == least;
      ASSERT_EQ(rounds.admit(node_of(rank), sent[rank] + 1, false).ok(), may);
      if (!may) continue;
      ++sent[rank];
      const bool completed = rounds.contribute(node_of(rank), false).has_value();
      const std::uint64_t finished = *std::min_element(sent.begin(), sent.end());
      ASSERT_EQ(rounds.version(), finished);
      ASSERT_EQ(completed, finished > least);
      ASSERT_EQ(rounds.slowest(), finished);
      ASSERT_LE(rounds.spread(), 1U);
      ASSERT_EQ(rounds.passes(rounds.gate_after(false, completed), node_of(rank)), completed);
    }
  }
}

TEST(Rounds, BoundedModeKeepsSpreadWithinBound) {
  sim::Random random(4);
  for (std::uint32_t bound = 0; bound < 4; ++bound) {
    Consistency rounds = make(Mode::kBounded, 3, bound);
    std::uint64_t shares = 0;
    for (int i = 0; i < 2000; ++i) {
      const auto rank = static_cast<Rank>(random.below(3));
      if (rounds.rounds_of(node_of(rank)) > 0 &&
          !rounds.passes(rounds.gate_after(false, true), node_of(rank))) {
        continue;
      }
      share(rounds, rank);
      ASSERT_EQ(rounds.version(), ++shares);
      ASSERT_LE(rounds.spread(), bound + 1);
    }
    EXPECT_GT(shares, 500U) << "the slowest may always go on";
  }
}

TEST(ResumedRounds, GoOnBehindThoseThatOthersMade) {
  Consistency sync({.mode = Mode::kSync}, fake::group_of(2));
  sync.leave(fake::node_of(1));
  sync.resume(7);
  EXPECT_EQ(sync.version(), 7U);
  EXPECT_EQ(sync.next_round(), 8U);
  EXPECT_EQ(sync.rounds_before(fake::node_of(0)), 7U);
  EXPECT_TRUE(sync.admit(fake::node_of(0), 8, false).ok());
  EXPECT_FALSE(sync.admit(fake::node_of(0), 1, false).ok());
  EXPECT_EQ(sync.absentee(), fake::node_of(1)) << "it has left";
  EXPECT_TRUE(sync.consistent());

  Consistency async({.mode = Mode::kAsync}, fake::group_of(2));
  async.resume(7);
  EXPECT_EQ(async.rounds_before(fake::node_of(0)), 0U) << "there are no rounds";
  EXPECT_TRUE(async.admit(fake::node_of(0), 1, false).ok());
  EXPECT_TRUE(async.contribute(fake::node_of(0), false).has_value());
  EXPECT_EQ(async.version(), 8U);
  EXPECT_TRUE(async.passes(async.gate_of_pull(0), fake::node_of(1)));
  EXPECT_TRUE(async.consistent());
}

TEST(SyncRounds, GoOnFromRoundsThatWereMadeElsewhere) {
  Consistency rounds = make(Mode::kSync, 2);
  rounds.resume(4, 5);  // A round without a value.
  EXPECT_TRUE(rounds.consistent());
  EXPECT_EQ(rounds.version(), 4U);
  EXPECT_EQ(rounds.next_round(), 6U);
  EXPECT_EQ(rounds.applied_of(node_of(0)), 5U);
  EXPECT_EQ(rounds.rounds_before(node_of(0)), 0U) << "workers count on";
  EXPECT_TRUE(rounds.passes({.finished = 5}, node_of(1)));
  EXPECT_FALSE(share(rounds, 0));
  EXPECT_TRUE(share(rounds, 1));
  EXPECT_EQ(rounds.version(), 5U);
}

}  // namespace
}  // namespace stretto
