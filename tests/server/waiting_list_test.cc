// SPDX-License-Identifier: Apache-2.0
// The waits that end because of changes since the last call.
#include "server/aggregation/waiting_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/group.h"
#include "tests/sim/random.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<NodeId> workers_of(const std::vector<Waiter>& waiters) {
  std::vector<NodeId> workers;
  for (const Waiter& waiter : waiters) workers.push_back(waiter.worker);
  return workers;
}

TEST(WaitingList, ReleasesOpenGatesInArrivalOrder) {
  Consistency rounds({.mode = Mode::kSync}, fake::group_of(2));
  WaitingList list;
  for (const NodeId worker : {11U, 10U}) {
    const bool completed = rounds.contribute(worker, false).has_value();
    list.add({.worker = worker, .gate = rounds.gate_after(false, completed), .since = {}});
    if (worker == 11) {
      EXPECT_THAT(list.take_ready(rounds), IsEmpty());
    }
  }
  list.add({.worker = 11, .gate = rounds.gate_of_pull(2), .since = {}});
  EXPECT_THAT(workers_of(list.take_ready(rounds)), ElementsAre(11, 10));
  EXPECT_THAT(list.take_ready(rounds), IsEmpty()) << "each is taken once";
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(list.count_of(11), 1U);
  EXPECT_EQ(list.take_all().size(), 1U);
  EXPECT_TRUE(list.empty());
}

/// After each call, only requests with closed gates remain.
TEST(WaitingList, NoWorkerWaitsAtOpenGate) {
  sim::Random random(12);
  for (const Mode mode : {Mode::kSync, Mode::kBounded, Mode::kAsync}) {
    for (int job = 0; job < 100; ++job) {
      constexpr std::uint32_t kWorkers = 4;
      Consistency rounds({.mode = mode, .bound = static_cast<std::uint32_t>(random.below(3))},
                         fake::group_of(kWorkers));
      WaitingList list;
      for (int i = 0; i < 100; ++i) {
        const NodeId worker = fake::node_of(static_cast<Rank>(random.below(kWorkers)));
        const bool assign = random.below(10) == 0;
        if (random.below(60) == 0) {
          rounds.leave(worker);
        } else if (random.below(4) == 0) {
          list.add({.worker = worker, .gate = rounds.gate_of_pull(random.below(5)), .since = {}});
        } else if (rounds.admit(worker, rounds.rounds_of(worker) + 1, assign).ok()) {
          const bool completed = rounds.contribute(worker, assign).has_value();
          list.add({.worker = worker, .gate = rounds.gate_after(assign, completed), .since = {}});
        }
        for (const Waiter& waiter : list.take_ready(rounds)) {
          ASSERT_TRUE(rounds.passes(waiter.gate, waiter.worker));
        }
        std::vector<Waiter> held = list.take_all();
        for (const Waiter& waiter : held) {
          ASSERT_FALSE(rounds.passes(waiter.gate, waiter.worker));
          list.add(waiter);
        }
        if (random.below(2) == 0) list.take_ready(rounds);  // All of them have been checked.
      }
    }
  }
}

}  // namespace
}  // namespace stretto
