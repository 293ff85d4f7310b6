// SPDX-License-Identifier: Apache-2.0
// In a job with standbys a server that ends is restarted while --restarts permits, and then done
// without; in virtual time.
#include <gmock/gmock.h>

#include "tests/tools/launch_supervisor_fixture.h"
#include "tools/launch/plan/arguments.h"

namespace stretto::launch::supervised {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LaunchServersStandBy : public SupervisorFixture {
 protected:
  LaunchServersStandBy() : SupervisorFixture(GoingOn::Sizing::kServersStandBy, 0, 1) {}

  Reaction is_lost() { return supervisor_.on_loss_news(kServer, false, now_); }
  void lose_once() {
    end({{kServer, kKilled}});
    EXPECT_EQ(is_lost().restarts, (std::vector<Restart>{{kServer, kServer}}));
    supervisor_.on_spawned(kServer);
  }
  void end_others() {
    end({{kFirstWorker, kFine}, {kSecondWorker, kFine}});
    end({{kScheduler, kFine}});
    ASSERT_TRUE(supervisor_.over());
  }
};

TEST_F(LaunchServersStandBy, AsOftenAsMayBeItIsRunAgain) {
  run_all();
  lose_once();
  EXPECT_TRUE(end({{kServer, kKilled}}).notes.empty()) << "its word is awaited";
  const Reaction said = is_lost();
  EXPECT_THAT(said.restarts, IsEmpty());
  EXPECT_THAT(said.notes, ElementsAre("server 0 killed by SIGKILL; the job goes on without it"));
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersStandBy, OneThatStandsStillIsKilledAndNotMissed) {
  run_all();
  lose_once();
  const Reaction said = is_lost();
  EXPECT_EQ(said.orders, to({kServer}, SIGKILL, Scope::kGroup));
  EXPECT_THAT(said.notes, ElementsAre("server 0 is lost; the job goes on without it"));
  EXPECT_TRUE(end({{kServer, kKilled}}).notes.empty());
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersStandBy, OneThatIsLostWithItsHostIsRunElsewhere) {
  run_all();
  const std::size_t lost[] = {kServer};
  supervisor_.on_host_lost(lost, {Code::kPeerLost, "its host is gone"}, now_, now_);
  const Reaction said = is_lost();
  EXPECT_EQ(said.restarts, (std::vector<Restart>{{kServer, kServer}}));
  EXPECT_THAT(said.notes,
              ElementsAre("server 0 is lost: its host is gone; another is started in its place"));
  supervisor_.on_spawned(kServer);
  end({{kServer, kFine}});
  end_others();
}

// The scheduler detects the loss before the launcher loses the agent.
TEST_F(LaunchServersStandBy, OneThatIsMissedBeforeItsHostIsRunElsewhereToo) {
  run_all();
  EXPECT_EQ(silence_limit(supervisor_.evidence(), Limits()), Limits().silence);
  EXPECT_EQ(is_lost().orders, to({kServer}, SIGKILL, Scope::kGroup));
  EXPECT_EQ(silence_limit(supervisor_.evidence(), Limits()), Limits().late_silence);
  const std::size_t lost[] = {kServer};
  const Reaction said =
      supervisor_.on_host_lost(lost, {Code::kTimeout, "its host is silent"}, now_, now_);
  EXPECT_EQ(said.restarts, (std::vector<Restart>{{kServer, kServer}}));
  EXPECT_THAT(said.notes,
              ElementsAre("server 0 is lost: its host is silent; another is started in its place"));
  supervisor_.on_spawned(kServer);
  end({{kServer, kFine}});
  end_others();
}

TEST_F(LaunchServersStandBy, JobContinuesIfServerEndsBeforeStandingBy) {
  run_all();
  lose_once();
  end({{kServer, kKilled}});
  EXPECT_THAT(wait().notes, ElementsAre("server 0 killed by SIGKILL; the job goes on without it"));
  EXPECT_EQ(elapsed(), Limits().word);
  end_others();
  EXPECT_EQ(supervisor_.outcome().verdict.exit_status, 0);
}

TEST_F(LaunchServersStandBy, AndIsRunAgainIfItMayBe) {
  run_all();
  end({{kServer, kKilled}});
  EXPECT_EQ(wait().restarts, (std::vector<Restart>{{kServer, kServer}}));
}

TEST_F(LaunchServersStandBy, WithoutASchedulerItIsMissed) {
  run_all();
  end({{kServer, kKilled}});
  EXPECT_FALSE(end({{kScheduler, {false, 69}}}).notes.empty());
}

// Workers are lost as well: K of each.
class LaunchElasticStandBy : public SupervisorFixture {
 protected:
  LaunchElasticStandBy() : SupervisorFixture(GoingOn::Sizing::kElasticStandBy, 1, 1) {}
};

TEST_F(LaunchElasticStandBy, WorkersAndServersAreReplacedApart) {
  run_all();
  end({{kServer, kKilled}});
  EXPECT_EQ(supervisor_.on_loss_news(kServer, false, now_).restarts,
            (std::vector<Restart>{{kServer, kServer}}));
  supervisor_.on_spawned(kServer);
  end({{kFirstWorker, kKilled}});
  const Reaction lost = supervisor_.on_loss_news(kFirstWorker, false, now_);
  ASSERT_EQ(lost.restarts.size(), 1U);
  EXPECT_EQ(lost.restarts.front().instead_of, kFirstWorker);
  supervisor_.on_spawned(lost.restarts.front().member);
  end({{kServer, kKilled}, {kSecondWorker, kKilled}});
  EXPECT_THAT(supervisor_.on_loss_news(kServer, false, now_).notes,
              ElementsAre("server 0 killed by SIGKILL; the job goes on without it"));
  EXPECT_THAT(supervisor_.on_loss_news(kSecondWorker, false, now_).restarts, IsEmpty());
}

Result<Plan> plan_of(const std::vector<std::string>& words) {
  return parse_arguments(words, [](const std::string&) { return Result<std::string>(""); });
}

std::string cause_of(const std::vector<std::string>& words) {
  return plan_of(words).status().cause();
}

TEST(LaunchReplicas, AnotherServerMayStandByForEach) {
  const Plan plan = plan_of({"-n", "2", "-s", "3", "--replicas=2", "x"}).or_exit();
  EXPECT_EQ(members_of(plan).size(), 1u + 6u + 2u);
  EXPECT_EQ(label_of(members_of(plan)[6]), "server 5");
  EXPECT_EQ(members_of(plan_of({"-s", "3", "--replicas=1", "x"}).or_exit()).size(), 1u + 3u + 1u);
  EXPECT_EQ(cause_of({"--replicas=3", "x"}),
            "--replicas is '3', wanted a whole number from 1 to 2");
  EXPECT_EQ(cause_of({"-s", "0", "--replicas=2", "x"}),
            "--replicas is 2, and --servers is 0: no server keeps anything; leave out one");
  EXPECT_EQ(members_of(plan_of({"-n", "1:2", "-s", "3", "--replicas=2", "x"}).or_exit()).size(),
            1u + 6u + 2u);
}

}  // namespace
}  // namespace stretto::launch::supervised
