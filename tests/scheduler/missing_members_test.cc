// SPDX-License-Identifier: Apache-2.0
// The log lines about members that have not joined, and whether the job waits for them.
#include "scheduler/sessions/missing_members.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "common/log.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

class MissingMembersTest : public testing::Test {
 protected:
  MissingMembersTest() { set_log_level(Level::kSilent); }
  ~MissingMembersTest() override { set_log_level(Level::kInfo); }

  void come(Role role, Rank rank) {
    const auto orders = machine_.on(Join{.role = role,
                                         .rank = rank,
                                         .shards = 1,
                                         .workers = 2,
                                         .servers = 1,
                                         .host = "here:1",
                                         .address = "here:7000"},
                                    now_);
    ASSERT_TRUE(std::holds_alternative<Admit>(orders.at(0)));
  }
  /// The exit records of a launcher that has sent `said`.
  ExitNotices& launcher(std::string_view said) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const Descriptor launcher(ends[0]);
    const Descriptor scheduler(ends[1]);
    EXPECT_EQ(::send(launcher.get(), said.data(), said.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(said.size()));
    ends_.emplace(scheduler.get());
    ends_->take();
    return *ends_;
  }
  std::string line(const ExitNotices* launcher) {
    return missing_.take_line(machine_.admission(), launcher, now_).value_or("-");
  }

  /// Returns the members that are removed.
  std::vector<NodeId> await_again(const std::vector<MemberExit>& ends) {
    std::vector<NodeId> gone;
    missing_.await_again(ends, machine_, watch_, [&](const Disconnected& one) {
      gone.push_back(one.node);
      machine_.on(one, now_);
    });
    return gone;
  }

  Config config_ = fake::config(Role::kScheduler, -1);
  Time now_ = Time(100s);
  ViewMachine machine_{config_, now_};
  MissingMembers missing_{config_, now_};
  JobMonitor watch_{config_};
  std::optional<ExitNotices> ends_;
};

constexpr std::string_view kUnlimited = "ends are told\nmembers may join at any time\n";
constexpr std::string_view kLimited = "ends are told\n";

TEST_F(MissingMembersTest, LogsStateOfEachMissingMember) {
  const ExitNotices& ends = launcher(kUnlimited);
  come(Role::kServer, 0);
  EXPECT_EQ(line(&ends), "-");
  now_ += 10s;
  EXPECT_EQ(line(&ends),
            "the job has waited 10 s for its members: worker 0 runs, has not joined yet; worker 1 "
            "runs, has not joined yet");
  EXPECT_EQ(line(&ends), "-") << "once";
  come(Role::kWorker, 0);
  EXPECT_EQ(missing_.note_ends({{Role::kWorker, 1}}).size(), 1U);
  now_ += 60s;
  EXPECT_EQ(line(&ends),
            "the job has waited 70 s for its members: worker 1 has ended and had not joined");
}

class MissingElasticTest : public MissingMembersTest {
 protected:
  MissingElasticTest() {
    config_.job.min_workers = 1;
    config_.restarts = 1;
  }
};

TEST_F(MissingElasticTest, EndedWorkerIsAwaitedAgain) {
  come(Role::kWorker, 1);
  const NodeId node = machine_.next_view().members.begin()->first;
  const std::vector<MemberExit> ends{{Role::kWorker, 1}, {Role::kServer, 0}, {Role::kWorker, 0}};
  missing_.note_ends(ends);
  EXPECT_EQ(await_again(ends), std::vector<NodeId>{node});
  EXPECT_EQ(watch_.missed_workers(), (std::vector<Rank>{1, 0})) << "joined or not";
  come(Role::kWorker, 1);
}

TEST_F(MissingElasticTest, RunningJobAwaitsNoEndedWorker) {
  come(Role::kServer, 0);
  come(Role::kWorker, 0);
  come(Role::kWorker, 1);
  ASSERT_EQ(machine_.phase(), ViewMachine::Phase::kRunning);
  EXPECT_TRUE(await_again({{Role::kWorker, 1}}).empty());
  EXPECT_TRUE(watch_.missed_workers().empty());
}

TEST_F(MissingMembersTest, FixedJobAwaitsNoEndedWorker) {
  come(Role::kWorker, 1);
  EXPECT_TRUE(await_again({{Role::kWorker, 1}}).empty());
  EXPECT_TRUE(watch_.missed_workers().empty());
}

TEST_F(MissingMembersTest, SaysWhenTheWaitEnds) {
  come(Role::kServer, 0);
  come(Role::kWorker, 0);
  now_ += 10s;
  EXPECT_EQ(line(nullptr),
            "the job has waited 10 s for its members: worker 1 has not joined yet; the job ends "
            "after 10 s (STRETTO_RENDEZVOUS_TIMEOUT_S)");
  now_ += 60s;
  EXPECT_EQ(line(&launcher(kLimited)),
            "the job has waited 70 s for its members: worker 1 runs, has not joined yet; the job "
            "ends after 10 s (STRETTO_RENDEZVOUS_TIMEOUT_S)");
}

TEST_F(MissingMembersTest, ALauncherMayGiveThemTime) {
  EXPECT_FALSE(missing_.look(machine_, nullptr, now_).attended);
  EXPECT_FALSE(missing_.look(machine_, &launcher(kLimited), now_).attended);
  const Tick time = missing_.look(machine_, &launcher(kUnlimited), now_);
  EXPECT_TRUE(time.attended);
  EXPECT_TRUE(machine_.on(time, now_).empty());
  EXPECT_EQ(machine_.next_due(), Time::max());
  now_ += 100 * config_.rendezvous_timeout;
  EXPECT_TRUE(machine_.on(time, now_).empty());
  EXPECT_EQ(machine_.phase(), ViewMachine::Phase::kGathering);
}

TEST_F(MissingMembersTest, AJobThatRunsMissesNone) {
  come(Role::kServer, 0);
  come(Role::kWorker, 0);
  come(Role::kWorker, 1);
  ASSERT_EQ(machine_.phase(), ViewMachine::Phase::kRunning);
  now_ += 10s;
  const ExitNotices& ends = launcher(kUnlimited);
  EXPECT_FALSE(missing_.look(machine_, &ends, now_).attended);
  EXPECT_NE(line(&ends), "-") << "no line was taken";
}

}  // namespace
}  // namespace stretto
