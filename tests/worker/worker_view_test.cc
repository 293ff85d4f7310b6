// SPDX-License-Identifier: Apache-2.0
// A worker's rank by rosters, and the user threads' view of it.
#include "worker/elastic/worker_view.h"

#include <gmock/gmock.h>

#include "worker/api/rank_view.h"

namespace stretto {
namespace {

using testing::ElementsAre;

Roster of_three() {
  Roster roster;
  roster.epoch = 1;
  roster.workers = 3;
  roster.settings.min_workers = 1;
  for (Rank rank = 0; rank < 3; ++rank) {
    roster.members.push_back({.node = 10 + rank, .rank = rank, .address = {}});
  }
  roster.members.push_back({.node = 20, .role = Role::kServer, .address = {}});
  return roster;
}

// The first worker is lost, and the others have moved up.
Roster of_two() {
  Roster roster = of_three();
  roster.epoch = 2;
  roster.workers = 2;
  roster.members[0].left = true;
  for (const Rank rank : {0U, 1U}) {
    roster.members[rank + 1].rank = rank;
    roster.members[rank + 1].moved_up = 1;
  }
  return roster;
}

TEST(WorkerView, RanksCloseUpAndNumbersStay) {
  EXPECT_THAT(place_in(of_three(), 12).numbers, ElementsAre(0, 1, 2));
  const WorkerView place = place_in(of_two(), 12);
  EXPECT_EQ(place.rank, 1U);
  EXPECT_THAT(place.numbers, ElementsAre(1, 2));
}

TEST(WorkerView, JoiningWorkerIsNoRoot) {
  Roster roster = of_three();
  roster.members.push_back({.node = 30, .rank = 3, .address = {}, .joining = true});
  EXPECT_THAT(place_in(roster, 30).numbers, ElementsAre(0, 1, 2));
  Standing standing;
  standing.set(place_in(roster, 30));
  EXPECT_EQ(standing.rank(), 3U);
  EXPECT_FALSE(standing.root(0)->is_self);
}

// A program without steps admits no worker: its sums are over the initial members.
TEST(WorkerView, LaterStepNewcomerIsExcludedWithoutSteps) {
  Roster roster = of_two();
  roster.workers = 3;
  roster.members.push_back({.node = 30, .rank = 2, .address = {}, .from_step = 3});
  EXPECT_THAT(place_in(roster, 12, false).numbers, ElementsAre(1, 2));
  EXPECT_EQ(place_in(roster, 12).size(), 3U);
  EXPECT_EQ(place_in(roster, 30, false).size(), 3U) << "it has come in itself";
}

TEST(WorkerView, ChangesAreToldAndTheFirstIsNone) {
  Standing standing;
  std::vector<JobView> told;
  standing.on_view([&told](const JobView& view) { told.push_back(view); });
  standing.set(place_in(of_three(), 12));
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(standing.rank(), 2U);
  EXPECT_EQ(standing.root(0)->number, 0U);
  EXPECT_FALSE(standing.root(3));
  standing.set(place_in(of_two(), 12));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].rank, 1U);
  EXPECT_EQ(told[0].size, 2U);
  EXPECT_EQ(told[0].min_size, 1U);
  EXPECT_EQ(standing.root(0)->number, 1U);
  EXPECT_TRUE(standing.root(1)->is_self);
  EXPECT_EQ(standing.root(1)->view, of_two().epoch);
  EXPECT_EQ(standing.root(2)->number, Standing::Root::kNobody) << "who was there is lost";
  EXPECT_FALSE(standing.root(3));
  Roster same = of_two();
  same.epoch = 3;
  standing.set(place_in(same, 12));
  EXPECT_EQ(told.size(), 1U);
}

}  // namespace
}  // namespace stretto
