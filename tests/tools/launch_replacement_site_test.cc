// SPDX-License-Identifier: Apache-2.0
// The hosts on which replacements are started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tools/launch/plan/replacement_site.h"

namespace stretto::launch {
namespace {

using testing::HasSubstr;

// A scheduler here, servers 0 and 1 on a and b with workers; servers 2 and 3 have not run.
class NewSiteTest : public testing::Test {
 protected:
  JobSites sites() {
    return {.members = members_,
            .placement = placement_,
            .machines = machines_,
            .servers = 2,
            .works = [this](std::size_t site) { return !lost_.contains(site); },
            .runs = [this](std::size_t member) { return !ended_.contains(member); },
            .hears = [this](std::size_t site) { return slow_.contains(site); }};
  }

  std::vector<JobMember> members_{{Role::kScheduler, 0}, {Role::kServer, 0}, {Role::kServer, 1},
                                  {Role::kWorker, 0},    {Role::kWorker, 1}, {Role::kServer, 2},
                                  {Role::kServer, 3}};
  Placement placement_{.via = Via::kSsh,
                       .sites = {{"this host", true}, {"a", false}, {"b", false}, {"c", false}},
                       .site_of = {0, 1, 2, 1, 2, kNowhere, kNowhere},
                       .workers = 2};
  std::vector<std::string> machines_{"here", "a", "b", "c"};
  std::set<std::size_t> lost_;
  std::set<std::size_t> slow_;
  std::set<std::size_t> ended_;
};

TEST_F(NewSiteTest, AServerMovesToAnotherHostOfTheJobIfThereIsOne) {
  EXPECT_EQ(site_to_move_to("", 1, sites()).or_exit(), 2U);
  EXPECT_EQ(site_to_move_to("", 2, sites()).or_exit(), 1U);
  lost_ = {2};
  EXPECT_EQ(site_to_move_to("", 1, sites()).or_exit(), 1U) << "else it is the same one";
  machines_[2] = "a";  // Another name of the same host.
  lost_ = {};
  EXPECT_EQ(site_to_move_to("", 1, sites()).or_exit(), 1U);
}

TEST_F(NewSiteTest, AHostIsFoundByItsName) {
  EXPECT_EQ(site_to_move_to("c", 1, sites()).or_exit(), 3U);
  EXPECT_EQ(site_to_move_to("here", 1, sites()).or_exit(), 0U);
  EXPECT_THAT(site_to_move_to("x", 1, sites()).status().cause(),
              HasSubstr("there is no host 'x' in the job; it has a, b, c, here"));
  lost_ = {3};
  EXPECT_FALSE(site_to_move_to("c", 1, sites()).ok());
}

TEST_F(NewSiteTest, ReplacementRunsOnSameHost) {
  EXPECT_EQ(site_instead_of(1, sites()), 1U);
  EXPECT_EQ(site_instead_of(4, sites()), 2U);
}

TEST_F(NewSiteTest, NothingStartsWhereNoOrderArrives) {
  lost_ = {1, 2, 3};
  EXPECT_EQ(site_instead_of(4, sites()), std::nullopt);
  EXPECT_EQ(site_instead_of(5, sites()), std::nullopt) << "it has never run";
  slow_ = {2};
  EXPECT_EQ(site_instead_of(4, sites()), 2U) << "the agent there may only be slow";
}

TEST_F(NewSiteTest, ServerOfLostHostRunsApartFromReplica) {
  placement_.site_of = {0, 1, 2, 1, 2, 2, 3};  // b: standby of 0; c: standby of 1.
  lost_ = {1};
  EXPECT_EQ(site_instead_of(1, sites()), 3U);
  lost_ = {3};
  EXPECT_EQ(site_instead_of(6, sites()), 1U);
  lost_ = {1, 3};
  EXPECT_EQ(site_instead_of(1, sites()), 2U) << "beside it, if there is no other";
}

TEST_F(NewSiteTest, EndedMemberTakesNoRoom) {
  placement_.site_of = {0, 1, 2, 1, 3, 3, kNowhere};
  EXPECT_EQ(site_to_move_to("", 1, sites()).or_exit(), 2U) << "as on c";
  ended_ = {5};
  EXPECT_EQ(site_to_move_to("", 1, sites()).or_exit(), 3U);
  EXPECT_EQ(site_instead_of(5, sites()), 3U);
}

TEST_F(NewSiteTest, WorkerOfLostHostMovesToLeastLoaded) {
  lost_ = {1};
  members_.push_back({Role::kWorker, 2});
  placement_.site_of = {0, 1, 2, 1, 2, 2, kNowhere, 3};
  EXPECT_EQ(site_instead_of(3, sites()), 2U);
  ended_ = {7};
  EXPECT_EQ(site_instead_of(3, sites()), 3U);
  lost_ = {1, 2, 3};
  EXPECT_EQ(site_to_move_to("", 1, sites()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace stretto::launch
