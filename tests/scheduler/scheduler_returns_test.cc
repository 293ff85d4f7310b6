// SPDX-License-Identifier: Apache-2.0
// A scheduler is lost and restarts from its journal, in virtual time, with scripted members: its
// recovered state, its questions, and its admissions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/log.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/scheduler_returns_fixture.h"

namespace stretto {
namespace {

using fake::FarEnd;
using testing::HasSubstr;

TEST_F(SchedulerReturnsTest, ReconnectedMembersKeepIdentities) {
  gather();
  EXPECT_EQ(life_->scheduler->view().epoch, 1U);
  next_life();
  ASSERT_TRUE(life_->recovered.ok()) << life_->recovered.text();
  EXPECT_EQ(life_->scheduler->phase(), "running");
  EXPECT_EQ(gathering_of(life_->scheduler->machine()), JobFormation::kComplete);
  const auto heard = come(first_, again(Role::kWorker, 0, nodes_[1]));
  ASSERT_EQ(heard.size(), 2U);
  const auto& welcome = std::get<control::Welcome>(heard[0]);
  EXPECT_EQ(welcome.node, nodes_[1]);
  EXPECT_EQ(welcome.job, job_);
  EXPECT_EQ(welcome.life, 2U);
  const auto& roster = std::get<Roster>(heard[1]);
  EXPECT_EQ(roster.epoch, 2U);
  EXPECT_EQ(roster.since, 0U);
  EXPECT_EQ(roster.members.size(), 3U);
  EXPECT_EQ(roster.settings.scheduler_absence, 120s);
}

TEST_F(SchedulerReturnsTest, IdentitiesAreNeverGivenTwice) {
  gather();
  auto tool = connect(0);
  tool->say(fake::hello(Role::kObserver, 0));
  step();
  const NodeId seen = std::get<control::Welcome>(tool->control()).node;
  next_life();
  all_come();
  tool = connect(0);
  tool->say(fake::hello(Role::kObserver, 0));
  step();
  EXPECT_GT(std::get<control::Welcome>(tool->control()).node, seen);
}

TEST_F(SchedulerReturnsTest, MemberNotReconnectingIsLostOnTimeout) {
  gather();
  next_life();
  come(server_, again(Role::kServer, 0, nodes_[0]));
  come(first_, again(Role::kWorker, 0, nodes_[1]));
  pass(config_.job.dead_after - 200ms, {server_.get(), first_.get()});
  EXPECT_EQ(life_->scheduler->phase(), "running");
  pass(500ms, {server_.get(), first_.get()});
  EXPECT_THAT(life_->scheduler->status().cause(), HasSubstr("worker 1 is lost: nothing heard"));
}

TEST_F(SchedulerReturnsTest, TensorsHaveTheirNumbersAndSlots) {
  gather();
  const control::Declared before = declare(*first_, fake::spec("a", Dtype::kF32, 1000));
  declare(*first_, fake::spec("b", Dtype::kF32, 1000));
  next_life();
  all_come();
  const control::Declared after = declare(*second_, fake::spec("a", Dtype::kF32, 1000));
  EXPECT_EQ(after.tensor, before.tensor);
  EXPECT_EQ(after.first_slot, before.first_slot);
  EXPECT_EQ(declare(*first_, fake::spec("c", Dtype::kF32, 10)).tensor, 3U);
}

TEST_F(SchedulerReturnsTest, MismatchReachesAllDeclarers) {
  gather();
  declare(*first_, fake::spec("a", Dtype::kF32, 1000));
  next_life();
  all_come();
  first_->controls();
  second_->say(control::Declare{.spec = fake::spec("a", Dtype::kF32, 1001)});
  step();
  for (FarEnd* far : {first_.get(), second_.get()}) {
    const auto fault = std::get<control::Fault>(far->control());
    EXPECT_THAT(fault.why.cause(), HasSubstr("worker 0 declared f32[1000]"));
    EXPECT_THAT(fault.why.cause(), HasSubstr("worker 1 declared f32[1001]"));
  }
}

// ---- barriers

TEST_F(SchedulerReturnsTest, RepeatsOpenedBarrierToWorkerMissingIt) {
  gather();
  for (FarEnd* far : {first_.get(), second_.get()}) far->say(fake::barrier(1));
  step();
  control::Barrier told = *barrier_in(first_->controls());
  next_life();
  all_come();
  second_->say(fake::barrier(1));  // It missed the opening, and waits. The first worker,
  step();
  EXPECT_EQ(barrier_in(second_->controls()), nullptr);
  told.opened = true;
  first_->say(told);
  first_->say(fake::barrier(2));
  step();
  const auto heard = second_->controls();
  ASSERT_NE(barrier_in(heard), nullptr);
  EXPECT_EQ(barrier_in(heard)->number, 1U);
  EXPECT_EQ(barrier_in(heard)->last, told.last);
  EXPECT_FALSE(barrier_in(heard)->opened);
  second_->say(fake::barrier(2));
  step();
  EXPECT_EQ(barrier_in(first_->controls())->number, 2U);
}

TEST_F(SchedulerReturnsTest, PendingBarrierOpensOnceAllRepeatIt) {
  gather();
  first_->say(fake::barrier(1));
  step();
  next_life();
  all_come();
  second_->say(fake::barrier(1));
  step();
  EXPECT_EQ(barrier_in(second_->controls()), nullptr);
  first_->say(fake::barrier(1));
  step();
  EXPECT_NE(barrier_in(second_->controls()), nullptr);
}

TEST_F(SchedulerReturnsTest, DepartedWorkerDoesNotFailBarrier) {
  gather();
  for (FarEnd* far : {first_.get(), second_.get()}) far->say(fake::barrier(1));
  step();
  first_->say(control::Leave{});
  step();
  next_life();
  come(server_, again(Role::kServer, 0, nodes_[0]));
  come(second_, again(Role::kWorker, 1, nodes_[2]));
  second_->say(fake::barrier(1));
  step();
  EXPECT_NE(barrier_in(second_->controls()), nullptr) << "it is no PeerLost";
}

TEST_F(SchedulerReturnsTest, IgnoresOpenedBarrierWithoutRestart) {
  gather();
  control::Barrier told{.number = 5, .opened = true};
  first_->say(told);
  step();
  first_->say(fake::barrier(1));
  second_->say(fake::barrier(1));
  step();
  EXPECT_EQ(barrier_in(second_->controls())->number, 1U);
}

// ---- members that leave

TEST_F(SchedulerReturnsTest, AFarewellThatWasNotAnsweredIs) {
  gather();
  first_->say(control::Leave{});
  life_->scheduler->step(Duration::zero());
  next_life();
  all_come();
  first_->controls();
  first_->say(control::Leave{});
  step();
  EXPECT_TRUE(control::is<control::Leave>(first_->controls().front()));
}

TEST_F(SchedulerReturnsTest, OnceAllWorkersHaveLeftServersHearThat) {
  gather();
  first_->say(control::Leave{});
  second_->say(control::Leave{});
  step();
  next_life();
  EXPECT_EQ(life_->scheduler->phase(), "dispersing");
  const auto heard = come(server_, again(Role::kServer, 0, nodes_[0]));
  EXPECT_TRUE(control::is<control::Leave>(heard.back()));
}

TEST_F(SchedulerReturnsTest, RemembersReplacementAndReplacedServer) {
  gather();
  server_->break_link();
  step();
  auto other = join(Role::kServer, 0);
  next_life();
  const auto heard = come(first_, again(Role::kWorker, 0, nodes_[1]));
  const auto& roster = std::get<Roster>(heard.back());
  ASSERT_NE(roster.find(nodes_[0]), nullptr);
  EXPECT_TRUE(roster.find(nodes_[0])->lost);
  ASSERT_NE(roster.find(other->node), nullptr);
  EXPECT_FALSE(roster.find(other->node)->left);
  const auto late = come(server_, again(Role::kServer, 0, nodes_[0]));
  EXPECT_EQ(std::get<control::Fault>(late.back()).why.code(), Code::kServerLost);
}

TEST_F(SchedulerReturnsTest, EndedReplacementIsToldAgain) {
  begin_to_tell_ends();
  config_.scheduler_return.journal = "another journal";
  config_.scheduler_return.life = 1;
  config_.job.server_restarts = 3;
  next_life();
  gather();
  server_->break_link();
  end_server();
  end_server();  // Its replacement's.
  const auto news = [this] { return life_->scheduler->watch().loss_news().size(); };
  EXPECT_EQ(news(), 2U);
  EXPECT_NE(join(Role::kServer, 0)->node, nodes_[0]);
  next_life();
  EXPECT_TRUE(life_->recovered.ok()) << life_->recovered.text();
  EXPECT_EQ(news(), 2U) << "a launcher passes over what it knows";
}

// ---- non-members, and earlier members

TEST_F(SchedulerReturnsTest, UnawareServerRejoinsWithNewIdentity) {
  gather();
  const NodeId before = join(Role::kServer, 2)->node;
  next_life();
  const auto anew = join(Role::kServer, 2);
  EXPECT_NE(anew->node, before);
  EXPECT_EQ(life_->scheduler->view().find(before), nullptr);
  ASSERT_NE(life_->scheduler->view().find(anew->node), nullptr);
  EXPECT_TRUE(life_->scheduler->view().find(anew->node)->standby);
}

TEST_F(SchedulerReturnsTest, RefusesReconnectOfNonmembers) {
  gather();
  next_life();
  std::unique_ptr<FarEnd> far;
  control::Hello hello = again(Role::kWorker, 1, nodes_[1]);
  EXPECT_EQ(std::get<control::Fault>(come(far, hello).back()).why.code(), Code::kRefused);
  hello = again(Role::kWorker, 0, nodes_[1]);
  hello.token = "wrong";
  EXPECT_EQ(std::get<control::Fault>(come(far, hello).back()).why.code(), Code::kRefused);
  hello = again(Role::kWorker, 0, nodes_[1]);
  ++hello.job;
  EXPECT_EQ(std::get<control::Fault>(come(far, hello).back()).why.code(), Code::kRefused);
  hello = again(Role::kWorker, 0, nodes_[1], 3);
  EXPECT_THAT(std::get<control::Fault>(come(far, hello).back()).why.cause(),
              HasSubstr("knows scheduler 3 of this job"));
  hello = again(Role::kWorker, 0, 99);
  EXPECT_EQ(std::get<control::Fault>(come(far, hello).back()).why.code(), Code::kPeerLost);
}

TEST_F(SchedulerReturnsTest, AMemberMayComeAgainToTheSameOne) {
  gather();
  std::unique_ptr<FarEnd> before = std::move(first_);
  const auto heard = come(first_, again(Role::kWorker, 0, nodes_[1]));
  EXPECT_TRUE(control::is<control::Welcome>(heard.front()));
  EXPECT_TRUE(before->closed());
  pass(config_.job.dead_after + 1s, {server_.get(), first_.get(), second_.get()});
  EXPECT_EQ(life_->scheduler->phase(), "running");
}

TEST_F(SchedulerReturnsTest, ManyTimes) {
  gather();
  for (std::uint32_t time = 2; time < 5; ++time) {
    next_life();
    all_come();
    EXPECT_EQ(life_->scheduler->view().epoch, time);
    declare(*first_, fake::spec(fmt::format("t{}", time), Dtype::kF32, 10));
  }
  EXPECT_EQ(declare(*second_, fake::spec("t2", Dtype::kF32, 10)).tensor, 1U);
  EXPECT_EQ(declare(*second_, fake::spec("t4", Dtype::kF32, 10)).tensor, 3U);
}

TEST_F(SchedulerReturnsTest, MembersAreToldOnceItCannotComeBackAnyMore) {
  gather();
  disk_.fail(sim::DiskCall::kWrite, 28);
  declare(*first_, fake::spec("a", Dtype::kF32, 10));
  for (const control::Message& message : second_->controls()) {
    const auto* roster = std::get_if<Roster>(&message);
    if (roster != nullptr) {
      EXPECT_EQ(roster->settings.scheduler_absence, 0s);
      EXPECT_EQ(roster->epoch, 2U);
      return;
    }
  }
  ADD_FAILURE() << "nobody was told";
}

// ---- servers with standbys

class StandbyReturnsTest : public SchedulerReturnsTest {
 protected:
  StandbyReturnsTest() {
    config_.job.replicas = 2;
    config_.scheduler_return.journal = "another journal";
    config_.scheduler_return.life = 1;
    begin_to_tell_ends();
    next_life();
    server_ = join(Role::kServer, 0);
    standby_ = join(Role::kServer, 1);
    first_ = join(Role::kWorker, 0);
    second_ = join(Role::kWorker, 1);
    nodes_ = {server_->node, first_->node, second_->node, standby_->node};
  }
  void say_has_all(FarEnd& teller) {
    teller.say(control::StandbyReady{.node = nodes_[3]});
    step();
  }
  void workers_come() {
    come(first_, again(Role::kWorker, 0, nodes_[1]));
    come(second_, again(Role::kWorker, 1, nodes_[2]));
  }
  void standby_comes() { come(standby_, again(Role::kServer, 0, nodes_[3])); }
  void expect_moved_up() {
    EXPECT_EQ(life_->scheduler->phase(), "running");
    EXPECT_EQ(life_->scheduler->view().find(nodes_[0]), nullptr);
    const Member* heir = life_->scheduler->view().find(nodes_[3]);
    ASSERT_NE(heir, nullptr);
    EXPECT_FALSE(heir->standby);
    EXPECT_EQ(heir->rank, 0U);
  }

  std::unique_ptr<FarEnd> standby_;
};

TEST_F(StandbyReturnsTest, RestoresCaughtUpStandbyAndPromotion) {
  say_has_all(*server_);
  next_life();
  EXPECT_TRUE(life_->scheduler->view().caught_up.contains(nodes_[3]));
  workers_come();
  end_server();
  expect_moved_up();
  next_life();
  expect_moved_up();
  EXPECT_FALSE(life_->scheduler->view().caught_up.contains(nodes_[3]));
}

TEST_F(StandbyReturnsTest, LostServerWaitsForStandbyReport) {
  next_life();
  end_server();
  workers_come();
  standby_comes();
  EXPECT_EQ(life_->scheduler->phase(), "running") << "who stands by may have all";
  EXPECT_NE(life_->scheduler->view().find(nodes_[0]), nullptr);
  say_has_all(*standby_);
  standby_->say(fake::heartbeat());
  step();
  expect_moved_up();
}

TEST_F(StandbyReturnsTest, OneThatHasNotAllEndsTheJob) {
  next_life();
  end_server();
  standby_comes();
  standby_->say(fake::heartbeat());
  step();
  EXPECT_THAT(life_->scheduler->status().cause(),
              HasSubstr("server 1, which stands by for it, does not have all of it yet"));
}

TEST_F(StandbyReturnsTest, BothOfAPlaceAreLost) {
  next_life();
  end_server();
  workers_come();
  pass(config_.job.dead_after + 300ms, {first_.get(), second_.get()});
  EXPECT_THAT(life_->scheduler->status().cause(), HasSubstr("server 0 is lost"));
}

TEST_F(StandbyReturnsTest, RestoresLaterJoinedStandby) {
  say_has_all(*server_);
  server_->break_link();
  step();
  expect_moved_up();
  const std::unique_ptr<FarEnd> third = join(Role::kServer, 0);
  next_life();
  const Member* member = life_->scheduler->view().find(third->node);
  ASSERT_NE(member, nullptr);
  EXPECT_TRUE(member->standby);
  EXPECT_EQ(member->number(), 0U);
  workers_come();
  standby_comes();
  auto again_here = connect(third->node);
  again_here->say(again(Role::kServer, 0, third->node));
  step();
  EXPECT_TRUE(control::is<control::Welcome>(again_here->controls().front()));
}

}  // namespace
}  // namespace stretto
