// SPDX-License-Identifier: Apache-2.0
// Which jobs begin again, from what, where, and what is said of it.
#include <gtest/gtest.h>

#include "tools/launch/plan/environment.h"
#include "tools/launch/supervision/restart_policy.h"

namespace stretto::launch {
namespace {

const JobMember kServer{Role::kServer, 0};
const JobMember kWorker{Role::kWorker, 1};

class LaunchAttempts : public testing::Test {
 protected:
  LaunchAttempts() {
    plan_.restarts = 2;
    plan_.checkpoint = "/run";
    outcome_.gathered = true;
    outcome_.saved = {.number = 7, .step = 300};
    outcome_.verdict = lost(kServer, 137, true);
  }

  static Verdict lost(const JobMember& who, int status, bool ended) {
    Verdict verdict;
    verdict.exit_status = status;
    verdict.error = Status(Code::kServerLost, "killed by SIGKILL");
    verdict.who = who;
    verdict.ended = ended;
    return verdict;
  }
  Next next() const { return next_after(plan_, outcome_); }
  std::string said() const {
    const Next found = next();
    return found.notes.size() == 1 ? found.notes.front() : std::string();
  }

  Plan plan_;
  AttemptOutcome outcome_;
};

TEST_F(LaunchAttempts, GoesOnFromTheLastCheckpoint) {
  const Next found = next();
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.plan->restarts, 1U);
  EXPECT_EQ(found.plan->resume, "auto");
  EXPECT_EQ(said(),
            "server 0 killed by SIGKILL: the job begins again from its checkpoint of step 300 (1 "
            "more restart may follow)");
}

TEST_F(LaunchAttempts, TellTheNextHowOftenAndHowLong) {
  outcome_.ran = 100s;
  plan_ = *next().plan;
  outcome_.ran = 20s;
  const Plan third = *next().plan;
  EXPECT_EQ(third.failures, 2U);
  EXPECT_EQ(third.ran, 120s);
}

TEST_F(LaunchAttempts, OnlyTheSchedulerHearsOfThoseBefore) {
  plan_.checkpoint_every = Duration::zero();
  const auto variables = [this](Role role) { return variables_for(plan_, {role, 0}, {}, {}, {}); };
  EXPECT_EQ(variables(Role::kScheduler).at("STRETTO_CHECKPOINT_EVERY_S"), "auto");
  EXPECT_FALSE(variables(Role::kScheduler).contains("STRETTO_FAILURES"));
  plan_.failures = 2;
  plan_.ran = 90s;
  EXPECT_EQ(variables(Role::kScheduler).at("STRETTO_FAILURES"), "2");
  EXPECT_EQ(variables(Role::kScheduler).at("STRETTO_RAN_S"), "90");
  EXPECT_FALSE(variables(Role::kWorker).contains("STRETTO_FAILURES"));
}

TEST_F(LaunchAttempts, TellTheNextWhichCheckpointItMustFind) {
  plan_ = *next().plan;
  EXPECT_EQ(variables_for(plan_, {Role::kScheduler, 0}, {}, {}, {}).at("STRETTO_CHECKPOINT_MADE"),
            "7");
  EXPECT_FALSE(variables_for(plan_, kWorker, {}, {}, {}).contains("STRETTO_CHECKPOINT_MADE"));
  outcome_.saved.reset();
  EXPECT_EQ(next().plan->made, 7U) << "the next attempt has made none";
  outcome_.saved = {.number = 9, .step = 400, .is_made = false};
  EXPECT_EQ(next().plan->made, 9U);
  EXPECT_NE(said().find("from where it had begun this time"), std::string::npos);
}

TEST_F(LaunchAttempts, JobEndsWhereItsSchedulerRefusesToBegin) {
  outcome_.first = false;
  outcome_.gathered = false;
  outcome_.verdict = lost({Role::kScheduler, 0}, 1, true);
  EXPECT_TRUE(next().plan) << "it was lost";
  outcome_.verdict.error = Status(Code::kMalformed, "checkpoint 7 is not there");
  EXPECT_FALSE(next().plan);
  EXPECT_EQ(said(), "the job does not begin again: its scheduler refuses to begin");
}

TEST_F(LaunchAttempts, EndAfterAsManyAsWereAskedFor) {
  plan_.restarts = 0;
  EXPECT_FALSE(next().plan);
  plan_.restarts = 1;
  ASSERT_TRUE(next().plan);
  EXPECT_EQ(next().plan->restarts, 0U);
}

TEST_F(LaunchAttempts, WorkersThatWereReplacedCount) {
  plan_.least_workers = 1;
  outcome_.replaced = 1;
  ASSERT_TRUE(next().plan);
  EXPECT_EQ(next().plan->restarts, 0U);
  outcome_.replaced = 2;
  EXPECT_FALSE(next().plan);
}

TEST_F(LaunchAttempts, DoesNotRestartAfterSuccessOrInterrupt) {
  outcome_.interrupted = true;
  EXPECT_FALSE(next().plan);
  EXPECT_TRUE(next().notes.empty());
  outcome_.interrupted = false;
  outcome_.verdict = {};
  EXPECT_FALSE(next().plan);
  EXPECT_TRUE(next().notes.empty());
}

TEST_F(LaunchAttempts, WithoutAFolderThereIsNothingToBeginFrom) {
  plan_.checkpoint.clear();
  EXPECT_FALSE(next().plan);
}

TEST_F(LaunchAttempts, DoesNotRestartJobThatNeverFormed) {
  outcome_.gathered = false;
  EXPECT_FALSE(next().plan);
  EXPECT_EQ(said(), "the job does not begin again: it has not come together");
}

TEST_F(LaunchAttempts, RestartsJobThatDidNotFormAgain) {
  outcome_.first = false;
  outcome_.gathered = false;
  outcome_.saved.reset();
  EXPECT_TRUE(next().plan) << "it was lost while it began again";
  plan_.restarts = 0;
  EXPECT_FALSE(next().plan);
  EXPECT_EQ(said(),
            "the job does not begin again: no restarts are left (--restarts K): who is started for "
            "another counts, too");
}

TEST_F(LaunchAttempts, AProgramThatFailsNeedsACheckpointOfItsOwn) {
  outcome_.verdict = lost(kWorker, 3, true);
  outcome_.by_program = true;
  EXPECT_TRUE(next().plan) << "it got further";
  outcome_.saved.reset();
  EXPECT_FALSE(next().plan);
  EXPECT_EQ(
      said(),
      "the job does not begin again: its program failed before it had made a checkpoint since, "
      "and would again");
  outcome_.by_program = false;
  EXPECT_TRUE(next().plan) << "it was killed, or lost";
}

TEST_F(LaunchAttempts, OlderCheckpointsThatWereNotWantedStayUnwanted) {
  plan_.resume = "no";
  plan_.added_environment = {{"STRETTO_RESUME", "no"}, {"OTHER", "x"}};
  EXPECT_EQ(next().plan->resume, "auto");
  EXPECT_EQ(next().plan->added_environment.size(), 1U);
  outcome_.saved.reset();
  EXPECT_EQ(next().plan->resume, "no");
  EXPECT_NE(said().find("begins again from the start, as it has made no checkpoint"),
            std::string::npos);
}

TEST_F(LaunchAttempts, ResumesFromPathUntilOwnCheckpoint) {
  plan_.resume = "old/ckpt-3";
  EXPECT_EQ(next().plan->resume, "auto");
  outcome_.saved.reset();
  EXPECT_EQ(next().plan->resume, "old/ckpt-3");
  EXPECT_NE(said().find("begins again from where it had begun this time"), std::string::npos);
}

TEST_F(LaunchAttempts, LostHostsAreLeftOut) {
  plan_.hosts = {{"a", 2}, {"b", 2}};
  plan_.server_hosts = {{"b", 1}};
  plan_.scheduler_host = "b";
  outcome_.lost_hosts = {"b"};
  const Next found = next();
  ASSERT_TRUE(found.plan);
  EXPECT_EQ(found.plan->hosts, (std::vector<HostSlots>{{"a", 2}}));
  EXPECT_TRUE(found.plan->server_hosts.empty());
  EXPECT_TRUE(found.plan->scheduler_host.empty());
  EXPECT_TRUE(said().ends_with(", without b"));
  outcome_.lost_hosts = {"node 1 of Slurm job 7"};
  EXPECT_TRUE(said().ends_with(" may follow)")) << "Slurm places it there again";
}

}  // namespace
}  // namespace stretto::launch
