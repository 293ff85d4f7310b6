// SPDX-License-Identifier: Apache-2.0
// External servers: the ranks that they take over, their ids, and their lives; with the view
// machine that assigns ranks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/membership/view_machine.h"
#include "scheduler/migration/server_migrations.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kHere = 1;
constexpr std::uint64_t kThere = 2;
constexpr std::uint64_t kFar = 9;

class MovesJoiningTest : public testing::Test {
 protected:
  MovesJoiningTest() {
    config_.servers = 4;
    config_.job.server_restarts = 3;
  }

  NodeId come(Rank number, std::uint64_t machine, std::uint32_t shard = 0) {
    orders_ = machine_->on(Join{.role = Role::kServer,
                                .rank = number,
                                .shard = shard,
                                .shards = config_.shards,
                                .servers = config_.servers,
                                .host = fmt::format("s{}", number),
                                .address = fmt::format("s:{}", 7000 + 100 * shard + number),
                                .machine = machine},
                           now_);
    const auto* admit = orders_.empty() ? nullptr : std::get_if<Admit>(&orders_.front());
    return admit == nullptr ? 0 : admit->member.node;
  }
  /// One server here, the others on the far machine.
  void gather() {
    machine_.emplace(config_, now_);
    for (std::uint32_t shard = 0; shard < config_.shards; ++shard) {
      for (Rank number = 0; number < config_.server_processes(); ++number) {
        servers_.push_back(come(number, number == 0 ? kHere : kThere, shard));
      }
    }
    for (const Rank rank : {0U, 1U}) {
      machine_->on(Join{.rank = rank, .workers = 2, .servers = config_.servers, .host = "w"}, now_);
    }
    ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  }
  void lose(NodeId node) {
    machine_->on(Disconnected{.node = node, .cause = "reset"}, now_);
    machine_->on(EndOfTurn{}, now_);
  }
  void catch_up(NodeId from, NodeId to) {
    machine_->on(StandbyCaughtUp{.server = from, .standby = to}, now_);
  }
  auto invite(const PlacementRequest& wish) { return moves_.invite(wish, 9, view(), now_); }
  /// Ids of the invited servers, and the servers that they replace.
  std::vector<std::pair<Rank, Rank>> invited(const PlacementRequest& wish) {
    const auto found = invite(wish);
    EXPECT_TRUE(found.ok()) << found.status().text();
    std::vector<std::pair<Rank, Rank>> numbers;
    if (!found.ok()) return numbers;
    for (const ServerMigrations::JoinTicket& one : *found)
      numbers.emplace_back(one.server, one.from);
    return numbers;
  }
  std::string refused(const PlacementRequest& wish) { return invite(wish).status().cause(); }
  std::vector<MigrationResult> follow() { return moves_.follow(view(), now_); }
  const View& view() const { return machine_->view(); }

  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(1s);
  std::optional<ViewMachine> machine_;
  std::vector<ViewOrder> orders_;
  std::vector<NodeId> servers_;
  ServerMigrations moves_{config_, true};
};

TEST_F(MovesJoiningTest, PlacesAreTakenFromTheMachineThatHasMost) {
  gather();
  EXPECT_THAT(invited({.count = 3, .machine = kFar}),
              ElementsAre(std::pair(9U, 1U), std::pair(10U, 2U), std::pair(8U, 0U)))
      << "there are three at first, and then one on each";
  EXPECT_THAT(moves_.orders(), IsEmpty()) << "nobody else starts them";
  EXPECT_THAT(refused({.count = 2, .machine = kFar}),
              HasSubstr("2 of the job's 4 places are wanted, and 1 can be given now; the place of "
                        "server 2 is being handed over to server 10 already"));
}

TEST_F(MovesJoiningTest, AndNotFromTheirOwnMachineUnlessThatIsSaid) {
  gather();
  EXPECT_THAT(refused({.count = 2, .machine = kThere}),
              HasSubstr("1 can be given now; server 3 runs on that machine already (--place 3"));
  EXPECT_THAT(invited({.count = 1, .machine = kThere}), ElementsAre(std::pair(8U, 0U)));
  EXPECT_THAT(invited({.server = 3, .machine = kThere}), ElementsAre(std::pair(11U, 3U)));
}

TEST_F(MovesJoiningTest, CaughtUpServerTakesPlaceAndCanMove) {
  gather();
  ASSERT_THAT(invited({.server = 1, .machine = kFar}), ElementsAre(std::pair(9U, 1U)));
  EXPECT_THAT(follow(), IsEmpty());
  const NodeId comes = come(9, kFar);
  ASSERT_NE(comes, 0U);
  EXPECT_TRUE(view().find(comes)->standby);
  EXPECT_THAT(follow(), IsEmpty());
  catch_up(servers_[1], comes);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].guest && answers[0].why.ok());
  EXPECT_EQ(answers[0].server, 9U);
  EXPECT_EQ(answers[0].from, 1U);
  EXPECT_EQ(view().find(comes)->describe(), "server 9");
  // To another external server, which has the other id,
  ASSERT_THAT(invited({.server = 9, .machine = kHere}), ElementsAre(std::pair(13U, 9U)));
  const NodeId next = come(13, kHere);
  catch_up(comes, next);
  ASSERT_THAT(follow(), SizeIs(1));
  // and back to a server of the launcher.
  ASSERT_TRUE(moves_.begin(13, {}, 7, view(), now_).ok());
  EXPECT_THAT(moves_.orders(), ElementsAre(MigrationOrder{.server = 1, .from = 13}));
}

TEST_F(MovesJoiningTest, OneThatIsLostBeforeIsNotStartedAgain) {
  gather();
  invited({.server = 0, .machine = kFar});
  const NodeId comes = come(8, kFar);
  follow();
  lose(comes);
  moves_.note_loss(comes, "worker 1 cannot reach it");
  auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(),
              HasSubstr("was lost before it had all: worker 1 cannot reach it"));
  moves_.note_end(8);
  invited({.server = 0, .machine = kFar});
  moves_.note_end(8);  // It never registered.
  answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].why.code(), Code::kServerLost);
  invited({.server = 0, .machine = kFar});
  now_ += 10s;
  answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("did not come within 10 s"));
  EXPECT_THAT(moves_.orders(), IsEmpty());
}

TEST_F(MovesJoiningTest, LeavingServerHandsOverToInvitedServer) {
  gather();
  invited({.server = 0, .machine = kFar});
  ASSERT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());
  catch_up(servers_[0], come(8, kFar));
  EXPECT_THAT(follow(), SizeIs(2));
  EXPECT_THAT(moves_.orders(), IsEmpty());
}

TEST_F(MovesJoiningTest, WhereThatOneFailsItsPlaceIsTheLaunchers) {
  gather();
  invited({.server = 0, .machine = kFar});
  ASSERT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());
  ASSERT_NE(come(8, kFar), 0U);
  EXPECT_THAT(follow(), IsEmpty());
  lose(view().members.rbegin()->first);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1)) << "server 0 waits on";
  EXPECT_EQ(answers[0].asker, 9U);
  EXPECT_TRUE(answers[0].guest && !answers[0].why.ok());
  EXPECT_THAT(follow(), IsEmpty());
  ASSERT_THAT(moves_.orders(), SizeIs(1));
  EXPECT_EQ(moves_.orders()[0].server, 4U);
  EXPECT_EQ(moves_.orders()[0].from, 0U);
  catch_up(servers_[0], come(4, kThere));
  const auto last = follow();
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0].asker, 7U);
  EXPECT_TRUE(last[0].why.ok() && !last[0].guest);
}

TEST_F(MovesJoiningTest, AndOnlyOnceItIsGone) {
  config_.shards = 2;
  gather();
  invited({.server = 0, .machine = kFar});
  ASSERT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());
  const NodeId comes = come(8, kFar);
  EXPECT_THAT(follow(), IsEmpty());
  now_ += 10s;
  ASSERT_THAT(follow(), SizeIs(1)) << "its second shard did not come";
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(moves_.orders(), IsEmpty()) << "it would be turned away";
  lose(comes);
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(moves_.orders(), SizeIs(1));
}

TEST_F(MovesJoiningTest, ForgetsInvitationOfDepartedTool) {
  gather();
  invited({.server = 0, .machine = kFar});
  moves_.forget(9);
  now_ += 10s;
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(moves_.orders(), IsEmpty());
  EXPECT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());
  EXPECT_THAT(moves_.orders(), SizeIs(1)) << "its place is free for others";
}

TEST_F(MovesJoiningTest, OneThatIsThereBeforeTheLaunchersIsGoneOnWith) {
  gather();
  ASSERT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());  // After a restart of the scheduler.
  EXPECT_THAT(moves_.orders(), SizeIs(1));
  const NodeId comes = come(8, kFar);  // A previous scheduler had invited it.
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(invited({.server = 0, .known_as = 8}), IsEmpty());
  catch_up(servers_[0], comes);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_TRUE(answers[0].why.ok() && answers[1].why.ok());
  EXPECT_EQ(answers[0].server, 8U);
}

TEST_F(MovesJoiningTest, TheNextSchedulerGoesOnWithIt) {
  gather();
  const NodeId comes = come(8, kFar);  // A previous scheduler had invited it.
  EXPECT_THAT(invited({.server = 0, .known_as = 8}), IsEmpty()) << "it has been started";
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(refused({.server = 0, .known_as = 12}), HasSubstr("to server 8 already"));
  catch_up(servers_[0], comes);
  ASSERT_THAT(follow(), SizeIs(1));
  ASSERT_TRUE(invite({.server = 0, .known_as = 8}).ok());
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1)) << "it has the place already";
  EXPECT_TRUE(answers[0].why.ok());
  ASSERT_TRUE(invite({.server = 1, .known_as = 9}).ok());
  now_ += 10s;
  EXPECT_THAT(follow(), SizeIs(1)) << "it never came";
}

TEST_F(MovesJoiningTest, AcceptsServerInPlaceDespiteNextMove) {
  gather();
  const NodeId comes = come(8, kFar);
  catch_up(servers_[0], comes);
  ASSERT_TRUE(moves_.begin(8, {}, 7, view(), now_).ok());  // By a signal to it.
  ASSERT_TRUE(invite({.server = 0, .known_as = 8}).ok());
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].why.ok() && answers[0].guest);
  EXPECT_EQ(answers[0].server, 8U);
  EXPECT_EQ(answers[0].asker, 9U);
  EXPECT_THAT(moves_.orders(), ElementsAre(MigrationOrder{.server = 0, .from = 8}));
}

TEST_F(MovesJoiningTest, RefusesAbsentServerIfPlaceIsPromised) {
  gather();
  ASSERT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());  // The launcher's server 4 is started.
  EXPECT_THAT(refused({.server = 0, .known_as = 8}), HasSubstr("to server 4 already"));
  EXPECT_TRUE(moves_.is_given_up(8, now_));
  EXPECT_TRUE(moves_.note_end(8, 9));
  EXPECT_FALSE(moves_.is_given_up(8, now_));
}

TEST_F(MovesJoiningTest, TimedOutServerIsGivenUpAndKeepsId) {
  gather();
  invited({.server = 0, .machine = kFar});
  now_ += 10s;
  ASSERT_THAT(follow(), SizeIs(1));
  EXPECT_TRUE(moves_.is_given_up(8, now_));
  EXPECT_THAT(invited({.server = 0, .machine = kFar}), ElementsAre(std::pair(12U, 0U)));
  now_ += 10s;
  ASSERT_THAT(follow(), SizeIs(1));
  EXPECT_THAT(refused({.server = 0, .machine = kFar}), HasSubstr("try again in a minute"));
  EXPECT_FALSE(moves_.note_end(12, 10)) << "it is another's";
  EXPECT_TRUE(moves_.note_end(12, 9));
  EXPECT_THAT(invited({.server = 0, .machine = kFar}), ElementsAre(std::pair(12U, 0U)));
}

TEST_F(MovesJoiningTest, PresentServerContinuesEarlierMove) {
  gather();
  const NodeId comes = come(8, kFar);
  ASSERT_TRUE(moves_.begin(0, {}, 7, view(), now_).ok());
  EXPECT_THAT(moves_.orders(), IsEmpty());
  catch_up(servers_[0], comes);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].server, 8U);
}

TEST_F(MovesJoiningTest, RefusesImpossibleInvitation) {
  gather();
  EXPECT_THAT(refused({.count = 5}), HasSubstr("and the job has 4"));
  EXPECT_FALSE(invite({.count = 0}).ok());
  EXPECT_THAT(refused({.server = 4}), HasSubstr("no server 4 has a place: the job has 4 places"));
  EXPECT_THAT(refused({.server = 4000}), HasSubstr("no server 4000"));
  EXPECT_FALSE(invite({.server = 0, .known_as = 4000}).ok());
  config_.job.server_restarts = 0;
  EXPECT_THAT(refused({}), HasSubstr("started with --restarts K"));
  config_.servers = 0;
  EXPECT_THAT(refused({}), HasSubstr("has no servers"));
}

TEST_F(MovesJoiningTest, ANumberThatIsFreeIsNoPlace) {
  gather();
  const NodeId comes = come(8, kFar);
  catch_up(servers_[0], comes);
  ASSERT_FALSE(view().find(comes)->standby);
  ASSERT_NE(come(4, kHere), 0U) << "it stands by for that one";
  EXPECT_EQ(come(0, kHere), 0U) << "which one does already";
  const auto* refused = std::get_if<Refuse>(&orders_.front());
  ASSERT_NE(refused, nullptr);
  EXPECT_THAT(refused->why.cause(), HasSubstr("s0 asks to be server 0, and the job runs already"));
}

TEST_F(MovesJoiningTest, EndingJobAdmitsNoServer) {
  gather();
  for (const NodeId worker : std::set<NodeId>(view().contributors.nodes)) {
    machine_->on(Left{.node = worker}, now_);
  }
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kDispersing);
  EXPECT_EQ(come(8, kFar), 0U);
  EXPECT_EQ(std::get<Refuse>(orders_.front()).why.cause(), "the job is ending");
}

class MovesJoiningStandbysTest : public MovesJoiningTest {
 protected:
  MovesJoiningStandbysTest() {
    config_.servers = 2;
    config_.shards = 2;
    config_.job.server_restarts = 0;
    config_.job.replicas = 2;
  }
};

TEST_F(MovesJoiningStandbysTest, InvitedServerStandsByForLoneServer) {
  gather();
  EXPECT_THAT(refused({.machine = kFar}),
              HasSubstr("0 can be given now; server 3 stands by for server 1 already"));
  lose(servers_[2]);
  ASSERT_THAT(invited({.machine = kFar}), ElementsAre(std::pair(4U, 0U)));
  const NodeId first = come(4, kFar, 0);
  const NodeId second = come(4, kFar, 1);
  ASSERT_TRUE(first != 0 && second != 0);
  catch_up(servers_[0], first);
  EXPECT_THAT(follow(), IsEmpty());
  catch_up(servers_[4], second);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].why.ok());
  lose(servers_[0]);
  EXPECT_FALSE(view().find(first)->standby) << "it has the place now";
  EXPECT_FALSE(view().find(second)->standby);
  ASSERT_THAT(invited({.machine = kFar + 1}), ElementsAre(std::pair(6U, 4U)));
}

TEST_F(MovesJoiningStandbysTest, KeepsLauncherStandbyAndRefusesInvited) {
  gather();
  lose(servers_[2]);
  ASSERT_THAT(invited({.machine = kFar}), ElementsAre(std::pair(4U, 0U)));
  ASSERT_NE(come(2, kHere, 1), 0U);
  EXPECT_EQ(come(4, kFar, 0), 0U) << "shards of one process are those that stand by";
  ASSERT_NE(come(2, kHere, 0), 0U);
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].why.code(), Code::kRefused);
  EXPECT_THAT(answers[0].why.cause(), HasSubstr("server 2 shard 1 stands by for server 0"));
}

TEST_F(MovesJoiningStandbysTest, OneThatHasAllIsInForTheNextScheduler) {
  gather();
  lose(servers_[2]);
  const NodeId first = come(4, kFar, 0);
  const NodeId second = come(4, kFar, 1);
  catch_up(servers_[0], first);
  catch_up(servers_[4], second);
  ASSERT_TRUE(invite({.server = 0, .known_as = 4}).ok());
  const auto answers = follow();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].why.ok());
  EXPECT_EQ(moves_.next_due(), Time::max()) << "nothing is under way";
}

TEST(GuestServers, OneThatIsLostIsReplacedByOneOfTheLaunchers) {
  Config config = fake::config(Role::kScheduler, -1);
  config.servers = 2;
  config.job.server_restarts = 2;
  ServerRestarts returns(config);
  const Member guest{
      .node = 9, .role = Role::kServer, .rank = 1, .shard = 0, .address = "s:1", .moved_up = 4};
  ASSERT_EQ(guest.number(), 5U);
  returns.await(guest, "reset", Time(9s));
  const auto comes = [&](std::int64_t number) {
    return returns.place_for({.role = Role::kServer, .rank = number}) != nullptr;
  };
  EXPECT_TRUE(comes(1) && comes(3) && comes(5));
  EXPECT_FALSE(comes(0) || comes(2) || comes(7) || comes(4));
}

}  // namespace
}  // namespace stretto
