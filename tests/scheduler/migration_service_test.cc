// SPDX-License-Identifier: Apache-2.0
// Tools that start servers themselves: their requests at a scheduler, and its answers to those
// servers, in virtual time, with scripted members and tools.
#include "scheduler/migration/migration_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/scheduler_returns_fixture.h"

namespace stretto {
namespace {

using control::Move;
using fake::FarEnd;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// One server rank: ids 0 and 1 are the launcher's, 2 and 3 those of external servers.
class MigrationServiceTest : public SchedulerReturnsTest {
 protected:
  static constexpr Rank kGuest = 2;

  std::unique_ptr<FarEnd> greet() {
    auto tool = connect(0);
    tool->say(fake::hello(Role::kObserver, 0));
    step();
    tool->node = std::get<control::Welcome>(tool->control()).node;
    return tool;
  }
  static std::vector<Move> moves(FarEnd& far) {
    std::vector<Move> moves;
    for (const control::Message& message : far.controls()) {
      if (const auto* one = std::get_if<Move>(&message)) moves.push_back(*one);
    }
    return moves;
  }
  std::vector<Move> ask(FarEnd& tool, const Move& wanted) {
    tool.say(wanted);
    step();
    return moves(tool);
  }
  static Move known() { return {.server = 0, .joining = 1, .other = kGuest}; }
  static Move ended() {
    return {.server = kGuest, .why = {Code::kServerLost, "its process has ended"}, .joining = 1};
  }
  /// The answer to a server that says hello with this id.
  std::vector<control::Message> come_as(Rank number) {
    auto far = connect(0);
    far->say(fake::hello(Role::kServer, number));
    step();
    return far->controls();
  }
  void expect_admitted(Rank number) {
    const auto heard = come_as(number);
    ASSERT_FALSE(heard.empty());
    EXPECT_TRUE(control::is<control::Welcome>(heard.front()));
  }
  std::string refused(Rank number) {
    const auto heard = come_as(number);
    const auto* fault = heard.empty() ? nullptr : std::get_if<control::Fault>(&heard.front());
    return fault == nullptr ? "" : fault->why.cause();
  }
};

const Move kAny = {.joining = 1, .any = true};

TEST_F(MigrationServiceTest, RefusesGivenUpServerUntilToolReportsExit) {
  gather();
  const auto tool = greet();
  const auto other = greet();
  ASSERT_THAT(ask(*tool, kAny), SizeIs(1));
  pass(10s + 200ms, {server_.get(), first_.get(), second_.get()});
  const auto given_up = moves(*tool);
  ASSERT_THAT(given_up, SizeIs(1));
  EXPECT_THAT(given_up[0].why.cause(), HasSubstr("did not come within 10 s"));
  EXPECT_THAT(refused(kGuest), HasSubstr("server 2 has been given up, and comes too late"));
  ask(*other, ended());
  EXPECT_THAT(refused(kGuest), HasSubstr("given up")) << "that one has started another";
  EXPECT_EQ(ask(*other, kAny).at(0).server, kGuest + 1) << "nobody else has its number meanwhile";
  ask(*tool, ended());
  expect_admitted(kGuest);
}

TEST_F(MigrationServiceTest, AcceptsServerExitOnlyFromInvitingTool) {
  gather();
  const auto tool = greet();
  const auto other = greet();
  ask(*tool, kAny);
  ask(*other, ended());
  step();
  EXPECT_THAT(moves(*tool), IsEmpty());
  ask(*tool, ended());
  step();
  EXPECT_THAT(refused(kGuest + 1), "") << "it is awaited no more";
  const auto heard = ask(*tool, kAny);
  ASSERT_FALSE(heard.empty());
}

TEST_F(MigrationServiceTest, RestartDelaysInvitesUntilMembersReconnect) {
  gather();
  next_life();
  const auto tool = greet();
  const auto first = greet();
  EXPECT_THAT(ask(*tool, kAny), IsEmpty());
  ask(*first, known());  // An earlier scheduler had invited it.
  all_come();
  step();
  const auto answers = moves(*tool);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("being handed over to server 2 already"));
  EXPECT_EQ(answers[0].other, 0U);
}

TEST_F(MigrationServiceTest, ARefusalToGoOnNamesTheServerThatItIsAbout) {
  gather();
  next_life();
  all_come();
  const auto tool = greet();
  server_->say(Move{});  // The launcher starts a server for that.
  step();
  const auto answers = ask(*tool, known());
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].other, kGuest);
  EXPECT_EQ(answers[0].joining, 1U);
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("being handed over to server 1 already"));
  EXPECT_THAT(refused(kGuest), HasSubstr("given up"));
}

TEST_F(MigrationServiceTest, EndingJobRefusesOnlyNewInvitations) {
  gather();
  const auto tool = greet();
  first_->say(fake::leave());
  second_->say(fake::leave());
  step();
  ASSERT_EQ(life_->scheduler->phase(), "dispersing");
  EXPECT_THAT(ask(*tool, known()), IsEmpty());
  EXPECT_THAT(ask(*tool, kAny).at(0).why.cause(), HasSubstr("the job is ending"));
}

// Servers 0 and 1 are standbys of each other.
class MoveDeskStandbyTest : public MigrationServiceTest {
 protected:
  MoveDeskStandbyTest() {
    config_.job.replicas = 2;
    config_.scheduler_return.journal = "another journal";
    config_.scheduler_return.life = 1;
    next_life();
    server_ = join(Role::kServer, 0);
    standby_ = join(Role::kServer, 1);
    first_ = join(Role::kWorker, 0);
    second_ = join(Role::kWorker, 1);
  }
  const std::vector<LossReport>& news() { return life_->scheduler->watch().loss_news(); }

  std::unique_ptr<FarEnd> standby_;
};

TEST_F(MoveDeskStandbyTest, DropsLauncherServerIfPlaceIsTaken) {
  standby_->break_link(Code::kPeerLost);
  step();
  ASSERT_THAT(news(), SizeIs(1));
  EXPECT_FALSE(news()[0].dropped);
  expect_admitted(kGuest);
  EXPECT_THAT(refused(1), HasSubstr("there is none"));
  ASSERT_THAT(news(), SizeIs(2));
  EXPECT_TRUE(news()[1].server && news()[1].dropped);
  EXPECT_EQ(news()[1].number, 1U);
  EXPECT_THAT(refused(3), HasSubstr("there is none"));
  refused(0);
  EXPECT_THAT(news(), SizeIs(2)) << "one that is in is, and of others somebody else hears";
}

TEST_F(MoveDeskStandbyTest, LauncherStandbyPreemptsInvitedServer) {
  standby_->break_link(Code::kPeerLost);
  step();
  const auto tool = greet();
  ASSERT_THAT(ask(*tool, kAny), SizeIs(1));
  expect_admitted(1);
  step();
  const auto answers = moves(*tool);
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("server 1 stands by for server 0 already"));
  EXPECT_THAT(refused(kGuest), HasSubstr("given up"));
}

}  // namespace
}  // namespace stretto
