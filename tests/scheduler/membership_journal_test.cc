// SPDX-License-Identifier: Apache-2.0
// What is written down of what a view machine decides; and that it leads to the same.
#include "scheduler/journal/membership_journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/sim_disk.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::HasSubstr;
using Kind = JournalRecord::Kind;

constexpr const char* kPath = "journal";

class MembershipJournalTest : public testing::Test {
 protected:
  MembershipJournalTest() {
    config_.servers = 2;
    config_.job.server_restarts = 2;
    config_.scheduler_return = {.journal = kPath, .life = 1, .restarts = 5};
    begin();
  }
  void begin() {
    std::set<std::string> restored;
    Result<RecoveredState> past = past_of(config_, disk_, restored);
    ASSERT_TRUE(past.ok());
    chronicle_.emplace(std::move(past->journal));
    chronicle_->begin(77, config_, {});
    machine_.emplace(config_, now_);
  }
  std::vector<ViewOrder> on(const ViewEvent& event) {
    return chronicle_->on(*machine_, event, now_);
  }
  static Join server(Rank rank) {
    return {.role = Role::kServer,
            .rank = rank,
            .shards = 1,
            .servers = 2,
            .host = "s",
            .address = fmt::format("s:{}", 7000 + rank)};
  }
  void gather() {
    for (const Rank rank : {0U, 1U}) on(server(rank));
    for (const Rank rank : {0U, 1U})
      on(Join{.rank = rank, .workers = 2, .servers = 2, .host = "w"});
    ASSERT_EQ(machine_->view().epoch, 1U);
  }
  std::vector<Kind> kinds() {
    EXPECT_FALSE(chronicle_->commit());
    chronicle_.reset();
    std::vector<Kind> kinds;
    Result<Journal::Found> found = Journal::go_on(disk_, kPath);
    for (const JournalRecord& one : found->records) kinds.push_back(one.kind);
    return kinds;
  }

  sim::SimDisk disk_{3};
  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(1s);
  std::optional<MembershipJournal> chronicle_;
  std::optional<ViewMachine> machine_;
};

TEST_F(MembershipJournalTest, RecordsOnlyMembershipChanges) {
  gather();
  on(EndOfTurn{});
  on(Tick{});
  on(Alive{.node = 2});
  on(Disconnected{.node = 99});
  on(Left{.node = 4});
  on(EndOfTurn{});
  on(Left{.node = 4});
  on(Lost{.node = 4});
  EXPECT_THAT(kinds(),
              testing::ElementsAre(Kind::kBegun, Kind::kJoined, Kind::kJoined, Kind::kJoined,
                                   Kind::kJoined, Kind::kLeft, Kind::kPublished));
}

TEST_F(MembershipJournalTest, DoesNotRecordRefusedJoin) {
  on(server(0));
  on(server(0));
  EXPECT_THAT(kinds(), testing::ElementsAre(Kind::kBegun, Kind::kJoined));
}

TEST_F(MembershipJournalTest, RemembersReplacedServer) {
  gather();
  on(Disconnected{.node = 2, .cause = "killed"});
  on(EndOfTurn{});
  EXPECT_TRUE(chronicle_->departed().empty()) << "it is in the view";
  on(server(0));
  ASSERT_NE(chronicle_->departed(2), nullptr);
  EXPECT_TRUE(chronicle_->departed(2)->lost);
}

TEST_F(MembershipJournalTest, SchedulerRemembersTheLastDepartures) {
  constexpr NodeId kFirst = 100;
  constexpr NodeId kLast = kFirst + MembershipJournal::kMostDeparted;
  for (NodeId node = kFirst; node <= kLast; ++node) {
    const Member gone{.node = node, .role = Role::kWorker, .address = {}, .left = true};
    chronicle_->note_departed({Publish{.changed = {gone}}}, machine_->view());
  }
  EXPECT_EQ(chronicle_->departed().size(), MembershipJournal::kMostDeparted);
  EXPECT_EQ(chronicle_->departed(kFirst), nullptr);
  EXPECT_NE(chronicle_->departed(kLast), nullptr);
}

TEST_F(MembershipJournalTest, RosterHasTheDeparturesThatFit) {
  std::deque<Member> departed;
  for (NodeId node = 100; node < 100 + MembershipJournal::kMostDeparted; ++node) {
    departed.push_back({.node = node, .role = Role::kWorker, .address = {}, .left = true});
  }
  Roster roster = fake::roster();
  const std::size_t present = roster.members.size();
  add_departed(roster, departed);
  EXPECT_EQ(roster.members.size(), present + departed.size());
  for (Member& member : departed) member.address = std::string(1000, 'x');
  roster.members.resize(present);
  add_departed(roster, departed);
  EXPECT_GT(roster.members.size(), present + 100);
  EXPECT_EQ(roster.members.back().node, departed.back().node) << "the newest";
  EXPECT_LE(control::encode(roster).size(), wire::kMaxControlBytes);
}

TEST_F(MembershipJournalTest, AJobThatFailedDoesNotGoOn) {
  gather();
  on(Stop{Status(Code::kInterrupted, "asked to end")});
  EXPECT_EQ(kinds().back(), Kind::kFailed);
  config_.scheduler_return.life = 2;
  std::set<std::string> restored;
  const Result<RecoveredState> past = past_of(config_, disk_, restored);
  EXPECT_EQ(past.status().code(), Code::kInterrupted);
}

TEST_F(MembershipJournalTest, ALaterOneGoesOnFromTheSameCheckpoint) {
  config_.job.restored = 8;
  config_.job.restored_step = 80;
  config_.job.part_bytes = 128;
  chronicle_->begin(78, config_, {"w", "b"});
  kinds();
  Config later = fake::config(Role::kScheduler, -1);
  later.scheduler_return = {.journal = kPath, .life = 2, .restarts = 4};
  std::set<std::string> restored;
  const Result<RecoveredState> past = past_of(later, disk_, restored);
  ASSERT_TRUE(past.ok()) << past.status().text();
  EXPECT_EQ(past->job, 77U);
  EXPECT_EQ(later.job.restored, 8U);
  EXPECT_EQ(later.job.restored_step, 80U);
  EXPECT_EQ(restored, (std::set<std::string>{"b", "w"}));
}

TEST_F(MembershipJournalTest, OneThatWasReplacedDoesNotGoOn) {
  gather();
  chronicle_->renew(*machine_, 3, now_);
  kinds();
  std::set<std::string> restored;
  for (const std::uint32_t life : {2U, 3U}) {
    config_.scheduler_return.life = life;
    EXPECT_THAT(past_of(config_, disk_, restored).status().cause(),
                HasSubstr("scheduler 3 of this job has taken over already"));
  }
  config_.scheduler_return.life = 4;
  EXPECT_TRUE(past_of(config_, disk_, restored).ok());
}

TEST_F(MembershipJournalTest, AnElasticJobHasNone) {
  kinds();
  config_.job.min_workers = 1;
  std::set<std::string> restored;
  EXPECT_EQ(past_of(config_, disk_, restored)->journal, nullptr);
}

TEST_F(MembershipJournalTest, MissingFolderFailsOnlyLaterSchedulers) {
  std::set<std::string> restored;
  config_.scheduler_return.journal = "nowhere/journal";
  const Result<RecoveredState> first = past_of(config_, disk_, restored);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(MembershipJournal(nullptr).is_kept());
  config_.scheduler_return.life = 2;
  EXPECT_FALSE(past_of(config_, disk_, restored).ok());
}

TEST_F(MembershipJournalTest, WriteErrorDiscardsJournal) {
  gather();
  disk_.fail(sim::DiskCall::kWrite, 5);
  EXPECT_TRUE(chronicle_->commit());
  EXPECT_FALSE(chronicle_->is_kept());
  EXPECT_FALSE(*disk_.exists(kPath));
  EXPECT_FALSE(chronicle_->commit()) << "that is told once";
}

TEST_F(MembershipJournalTest, HelloRestoresJoinFields) {
  Join join = server(1);
  join.machine = 5;
  join.workers = 2;
  const control::Hello hello = hello_of(join);
  EXPECT_EQ(hello.rank, 1);
  EXPECT_EQ(hello.address, "s:7001");
  EXPECT_EQ(hello.machine, 5U);
  EXPECT_TRUE(hello.token.empty());
}

}  // namespace
}  // namespace stretto
