// SPDX-License-Identifier: Apache-2.0
// Host drains: the orders to members, and when a drain ends.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/tools/launch_supervisor_fixture.h"
#include "tools/launch/supervision/host_drains.h"

namespace stretto::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kSpareWorker = 4;

// The server and worker 0 on a, worker 1 on b.
class HostDrainsTest : public supervised::SupervisorFixture {
 protected:
  HostDrainsTest() : SupervisorFixture(GoingOn::Sizing::kElastic, 1) {
    plan_.restarts = 1;
    plan_.workers = 2;
    plan_.least_workers = 1;
    plan_.hosts = {{"a", 2}, {"b", 2}};
  }
  bool take(std::size_t site) { return notices_.take(site, now_); }
  void step() { notices_.step(now_, saved_); }
  std::string said() {
    std::string text;
    for (const std::string& note : done_.notes) text += note + "\n";
    return text;
  }

  const std::vector<JobMember> members_ = members_and(1);
  Plan plan_;
  Placement placement_{.via = Via::kSsh,
                       .sites = {{"this host", true}, {"a", false}, {"b", false}},
                       .site_of = {0, 1, 1, 2, kNowhere},
                       .workers = 2};
  std::vector<std::string> machines_{"here", "a", "b"};
  const JobSites sites_{
      .members = members_,
      .placement = placement_,
      .machines = machines_,
      .servers = 1,
      .works = [this](std::size_t site) { return !notices_.leaves(site); },
      .runs = [this](std::size_t member) { return supervisor_.evidence().is_alive(member); }};
  Reaction done_;
  std::vector<std::size_t> released_;
  std::vector<std::string> given_up_;
  int saves_ = 0;
  std::optional<std::uint64_t> saved_;
  HostDrains notices_{
      plan_,
      20s,
      sites_,
      supervisor_,
      {.react =
           [this](const Reaction& reaction) {
             for (const auto& note : reaction.notes) done_.notes.push_back(note);
             for (const auto& order : reaction.orders) done_.orders.push_back(order);
             for (const auto& restart : reaction.restarts) done_.restarts.push_back(restart);
           },
       .release = [this](std::size_t site) { released_.push_back(site); },
       .give_up = [this](std::size_t, const Status& why) { given_up_.push_back(why.cause()); },
       .save = [this] { ++saves_; }}};
};

TEST_F(HostDrainsTest, AsksMembersOnHostToLeaveAndAwaitsEnd) {
  run_all();
  ASSERT_TRUE(take(1));
  EXPECT_EQ(done_.orders, to({supervised::kServer, supervised::kFirstWorker}, SIGTERM,
                             supervised::Scope::kProcess));
  EXPECT_THAT(said(), HasSubstr("a leaves the job; asked to go within 20 s: server 0, worker 0"));
  EXPECT_TRUE(notices_.leaves(1));
  EXPECT_FALSE(notices_.leaves(2));
  ASSERT_TRUE(take(1)) << "said twice";
  EXPECT_EQ(done_.orders.size(), 2U);
  end({{supervised::kFirstWorker, supervised::kFine}});
  step();
  EXPECT_THAT(done_.restarts, ElementsAre(Restart{kSpareWorker, supervised::kFirstWorker}));
  EXPECT_THAT(said(), HasSubstr("worker 0 has left; worker 2 is started for it"));
  EXPECT_THAT(released_, IsEmpty());
  end({{supervised::kServer, supervised::kFine}});
  step();
  step();
  EXPECT_EQ(done_.restarts.size(), 1U);
  EXPECT_THAT(released_, ElementsAre(1));
  EXPECT_FALSE(notices_.deadline());
}

TEST_F(HostDrainsTest, KillsMembersStillOnHostAtTimeout) {
  run_all();
  ASSERT_TRUE(take(1));
  end({{supervised::kFirstWorker, supervised::kFine}});
  ASSERT_TRUE(notices_.deadline());
  now_ = *notices_.deadline();
  EXPECT_EQ(now_ - start_, 23s);
  done_.orders.clear();
  step();
  EXPECT_EQ(done_.orders, to({supervised::kServer}, SIGKILL, supervised::Scope::kGroup));
  EXPECT_THAT(released_, IsEmpty());
  done_.orders.clear();
  step();
  EXPECT_THAT(done_.orders, IsEmpty()) << "once";
  EXPECT_FALSE(notices_.deadline());
  EXPECT_THAT(notices_.names(), ElementsAre("a")) << "the job does not begin again there";
}

TEST_F(HostDrainsTest, OfTwoHostsTheSecondIsJudgedWithoutTheFirst) {
  plan_.least_workers = 2;
  run_all();
  EXPECT_FALSE(take(1)) << "one worker would be left, and there are no checkpoints";
  plan_.least_workers = 1;
  ASSERT_TRUE(take(1));
  EXPECT_FALSE(take(2)) << "nobody runs anywhere else";
}

TEST_F(HostDrainsTest, JobShutdownCancelsKillOfDrainedMembers) {
  run_all();
  ASSERT_TRUE(take(1));
  supervisor_.on_signal(SIGTERM, now_);
  EXPECT_FALSE(notices_.deadline());
  now_ += 60s;
  done_ = {};
  step();
  EXPECT_THAT(done_.orders, IsEmpty());
}

TEST_F(HostDrainsTest, AskedWorkerGetsNoSecondSigterm) {
  run_all();
  ASSERT_TRUE(take(1));
  const Reaction leaving = supervisor_.on_signal(SIGTERM, now_);
  EXPECT_EQ(leaving.orders, to({supervised::kSecondWorker}, SIGTERM, supervised::Scope::kProcess));
  EXPECT_THAT(leaving.notes, ElementsAre("sent SIGTERM to worker 1; SIGKILL follows after 20 s"));
  EXPECT_TRUE(supervisor_.evidence().members[supervised::kFirstWorker].told);
}

TEST_F(HostDrainsTest, FinishedWorkerIsNotReplaced) {
  run_all();
  ASSERT_TRUE(take(1));
  end({{supervised::kSecondWorker, supervised::kFine}});
  end({{supervised::kFirstWorker, supervised::kFine}});
  step();
  EXPECT_THAT(done_.restarts, IsEmpty());
}

TEST_F(HostDrainsTest, HostDrainedDuringFailureIsLeftOutOfRestart) {
  plan_.checkpoint = "kept";
  plan_.least_workers = 2;
  run_all();
  end({{supervised::kServer, supervised::kKilled}});
  ASSERT_TRUE(take(2));
  EXPECT_THAT(notices_.names(), ElementsAre("b"));
  EXPECT_THAT(done_.orders, IsEmpty());
}

TEST_F(HostDrainsTest, JobNeedingMembersRestartsAfterCheckpoint) {
  plan_.least_workers = 2;
  plan_.checkpoint = "kept";
  run_all();
  saved_ = 10;  // A checkpoint from before the drain.
  step();
  ASSERT_TRUE(take(1));
  EXPECT_THAT(done_.orders, IsEmpty());
  EXPECT_EQ(saves_, 1);
  step();
  EXPECT_THAT(given_up_, IsEmpty());
  saved_ = 12;
  step();
  EXPECT_THAT(given_up_, ElementsAre(HasSubstr("after a checkpoint")));
}

TEST_F(HostDrainsTest, OrWithoutOneThatDoesNotComeInTime) {
  plan_.least_workers = 2;
  plan_.checkpoint = "kept";
  run_all();
  ASSERT_TRUE(take(2));
  now_ += 20s;
  step();
  EXPECT_THAT(given_up_, ElementsAre(HasSubstr("no checkpoint was made in that time")));
}

TEST_F(HostDrainsTest, WhereNothingCanMoveItIsSaid) {
  start_all();
  EXPECT_FALSE(take(1));
  EXPECT_THAT(said(), HasSubstr("a is not emptied: the job does not run yet"));
  gather(JobFormation::kComplete);
  ASSERT_TRUE(take(1));
  EXPECT_FALSE(take(2)) << "and nowhere else is left";
  EXPECT_THAT(said(), HasSubstr("b is not emptied: the job has no other host"));
}

}  // namespace
}  // namespace stretto::launch
