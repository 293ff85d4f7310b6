// SPDX-License-Identifier: Apache-2.0
// Whether a host can be drained, and which members must leave for that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tools/launch/plan/drain_plan.h"

namespace stretto::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Way = DrainPlan::Way;

// The scheduler is on this host, servers 0 and 1 on a and b; worker 0 on a, workers 1 and 2 on b.
class DrainPlanTest : public testing::Test {
 protected:
  DrainPlanTest() {
    plan_.servers = 2;
    plan_.workers = 3;
    plan_.restarts = 1;
    plan_.least_workers = 1;
    plan_.hosts = {{"a", 3}, {"b", 3}};
  }
  DrainPlan of(std::size_t site, bool gathered = true) {
    const JobSites sites{.members = members_,
                         .placement = placement_,
                         .machines = machines_,
                         .servers = 2,
                         .works = [this](std::size_t at) { return !lost_.contains(at); },
                         .runs = [this](std::size_t member) { return !ended_.contains(member); }};
    return departure_of(site, plan_, sites, gathered);
  }

  Plan plan_;
  std::vector<JobMember> members_{{Role::kScheduler, 0}, {Role::kServer, 0}, {Role::kServer, 1},
                                  {Role::kWorker, 0},    {Role::kWorker, 1}, {Role::kWorker, 2}};
  Placement placement_{.via = Via::kSsh,
                       .sites = {{"this host", true}, {"a", false}, {"b", false}},
                       .site_of = {0, 1, 2, 1, 2, 2},
                       .workers = 3};
  std::vector<std::string> machines_{"here", "a", "b"};
  std::set<std::size_t> lost_;
  std::set<std::size_t> ended_;
};

TEST_F(DrainPlanTest, AsksMembersOnHostToLeave) {
  ended_ = {4};
  const DrainPlan what = of(2);
  EXPECT_EQ(what.way, Way::kLeaves);
  EXPECT_THAT(what.members, ElementsAre(2, 5));
  EXPECT_THAT(what.why, IsEmpty());
}

TEST_F(DrainPlanTest, ServersAloneMoveInAJobOfFixedSizeToo) {
  plan_.least_workers = 0;
  placement_.site_of = {0, 1, 2, 1, 1, 1};
  EXPECT_EQ(of(2).way, Way::kLeaves);
}

TEST_F(DrainPlanTest, RestartsJobIfMembersCannotLeave) {
  plan_.least_workers = 2;
  EXPECT_EQ(of(2).way, Way::kInVain) << "from where?";
  EXPECT_THAT(of(2).why,
              HasSubstr("1 workers run elsewhere, and the job may not go on with fewer"));
  EXPECT_EQ(of(1).way, Way::kLeaves);
  plan_.checkpoint = "kept";
  EXPECT_EQ(of(2).way, Way::kBeginsAgain);
  plan_.least_workers = 0;
  EXPECT_EQ(of(1).way, Way::kBeginsAgain);
  EXPECT_THAT(of(1).why, HasSubstr("workers of a job of fixed size cannot leave it"));
  plan_.hosts = {{"a", 3}, {"b", 2}};
  EXPECT_EQ(of(1).way, Way::kInVain);
  EXPECT_THAT(of(1).why, HasSubstr("the others have 2 slots for 3 workers"));
  EXPECT_EQ(of(2).way, Way::kBeginsAgain);
  placement_.via = Via::kSlurm;
  EXPECT_EQ(of(2).way, Way::kInVain) << "it would begin again on the same hosts";
  placement_.via = Via::kMpi;
  EXPECT_THAT(of(2).why, HasSubstr("mpirun ends all"));
  placement_.via = Via::kSsh;
  plan_.least_workers = 1;
  placement_.site_of.front() = 1;
  EXPECT_THAT(of(1).why, HasSubstr("its scheduler runs there"));
}

TEST_F(DrainPlanTest, NothingMovesWithoutAnotherHostOrRestarts) {
  EXPECT_EQ(of(1, false).way, Way::kInVain);
  lost_ = {2};
  EXPECT_THAT(of(1).why, HasSubstr("the job has no other host"));
  placement_.site_of.back() = 0;
  EXPECT_EQ(of(1).way, Way::kLeaves) << "the launcher's own is one if workers were started there";
  plan_.restarts = 0;
  EXPECT_EQ(of(1).way, Way::kInVain);
  EXPECT_THAT(of(1).why, HasSubstr("--restarts K"));
}

}  // namespace
}  // namespace stretto::launch
