// SPDX-License-Identifier: Apache-2.0
// Whose wait is over, by what has changed since the last look.
#include "server/waiting_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/random.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Rank> ranks_of(const std::vector<Waiter>& waiters) {
  std::vector<Rank> ranks;
  for (const Waiter& waiter : waiters) ranks.push_back(waiter.rank);
  return ranks;
}

TEST(WaitingList, TellsThoseWhoseGateOpensInTheOrderInWhichTheyCame) {
  Consistency rounds({.mode = Mode::kSync}, 2);
  WaitingList list;
  for (const Rank rank : {1U, 0U}) {
    const bool completed = rounds.contribute(rank, false).has_value();
    list.add({.rank = rank, .gate = rounds.gate_after(false, completed), .since = {}});
    if (rank == 1) {
      EXPECT_THAT(list.take_ready(rounds), IsEmpty());
    }
  }
  list.add({.rank = 1, .gate = rounds.gate_of_pull(2), .since = {}});
  EXPECT_THAT(ranks_of(list.take_ready(rounds)), ElementsAre(1, 0));
  EXPECT_THAT(list.take_ready(rounds), IsEmpty()) << "each is taken once";
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(list.count_of(1), 1U);
  EXPECT_EQ(list.take_all().size(), 1U);
  EXPECT_TRUE(list.empty());
}

/// Whoever is left waiting after a look is held by its gate.
TEST(WaitingList, NobodyWaitsWhoseGateIsOpen) {
  sim::Random random(12);
  for (const Mode mode : {Mode::kSync, Mode::kBounded, Mode::kAsync}) {
    for (int job = 0; job < 100; ++job) {
      constexpr std::uint32_t kWorkers = 4;
      Consistency rounds({.mode = mode, .bound = static_cast<std::uint32_t>(random.below(3))},
                         kWorkers);
      WaitingList list;
      for (int i = 0; i < 100; ++i) {
        const auto rank = static_cast<Rank>(random.below(kWorkers));
        const bool assign = random.below(10) == 0;
        if (random.below(60) == 0) {
          rounds.leave(rank);
        } else if (random.below(4) == 0) {
          list.add({.rank = rank, .gate = rounds.gate_of_pull(random.below(5)), .since = {}});
        } else if (rounds.admit(rank, rounds.rounds_of(rank) + 1, assign).ok()) {
          const bool completed = rounds.contribute(rank, assign).has_value();
          list.add({.rank = rank, .gate = rounds.gate_after(assign, completed), .since = {}});
        }
        for (const Waiter& waiter : list.take_ready(rounds)) {
          ASSERT_TRUE(rounds.passes(waiter.gate, waiter.rank));
        }
        std::vector<Waiter> held = list.take_all();
        for (const Waiter& waiter : held) {
          ASSERT_FALSE(rounds.passes(waiter.gate, waiter.rank));
          list.add(waiter);
        }
        if (random.below(2) == 0) list.take_ready(rounds);  // All of them have been looked at.
      }
    }
  }
}

}  // namespace
}  // namespace stretto
