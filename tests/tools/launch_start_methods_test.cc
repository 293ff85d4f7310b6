// SPDX-License-Identifier: Apache-2.0
// Every flag with every start method: the method refuses the flag, or the flag changes the job.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/clock.h"
#include "tools/launch/join/server_join.h"
#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/kubernetes.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/start_methods.h"

namespace stretto::launch {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

bool is_own_name(const std::string& name) { return name == "home"; }

constexpr StartMethod kMethods[] = {StartMethod::kLocal, StartMethod::kSsh, StartMethod::kMpi,
                                    StartMethod::kSlurm, StartMethod::kKubernetes};

// A flag under test: the words before it, which the reference launch has too, and its own words.
struct Trial {
  Flag flag;
  Words before;
  Words words;
};

// Each flag that concerns a job, so not --agent, --help and --version.
const std::vector<Trial>& trials() {
  static const std::vector<Trial> all{
      {Flag::kWorkers, {}, {"-n", "3"}},
      {Flag::kRestarts, {"--workers=1:2"}, {"--restarts=7"}},
      {Flag::kProcessesPerNode, {}, {"--nproc-per-node=3"}},
      {Flag::kNodes, {}, {"--nnodes=7"}},
      {Flag::kNodeRank, {}, {}},           // Rank 0 changes nothing; other ranks are refused.
      {Flag::kStandalone, {}, {}},         // Its check with --nnodes is tested elsewhere.
      {Flag::kRendezvousBackend, {}, {}},  // Accepted for users of torchrun, without effect.
      {Flag::kRendezvousEndpoint, {}, {"--rdzv-endpoint=localhost:9700"}},
      {Flag::kMasterAddress, {}, {"--master-addr=10.0.0.7"}},
      {Flag::kModule, {}, {}},  // How PROGRAM runs does not depend on the method.
      {Flag::kNoPython, {}, {}},
      {Flag::kMasterPort, {}, {"--master-port=29507"}},
      {Flag::kReplicas, {"-s", "2"}, {"--replicas=2"}},
      {Flag::kCheckpoint, {}, {"--checkpoint=/c"}},
      {Flag::kCheckpointEvery, {"--checkpoint=/c"}, {"--checkpoint-every=7s"}},
      {Flag::kResume, {"--checkpoint=/c"}, {"--resume=no"}},
      {Flag::kServers, {}, {"-s", "3"}},
      {Flag::kShards, {}, {"--shards=2"}},
      {Flag::kVia, {}, {}},  // It is the start method.
      {Flag::kHosts, {}, {"-H", "home:2,home:1"}},
      {Flag::kHostfile, {}, {"--hostfile=three"}},
      {Flag::kWorkerHostfile, {}, {"--worker-hostfile=three"}},
      {Flag::kServerHostfile, {}, {"--server-hostfile=three"}},
      {Flag::kOversubscribe, {"-n", "9"}, {"--oversubscribe"}},  // On this host: with -H alone.
      {Flag::kEncrypt, {}, {"--encrypt"}},
      {Flag::kSchedulerHost, {}, {"--scheduler-host=b"}},
      {Flag::kInterface, {}, {"--interface=eth7"}},
      {Flag::kPort, {}, {"--port=9700"}},
      {Flag::kStarter, {}, {"--starter=other"}},
      {Flag::kDirectory, {}, {"--chdir=/d"}},
      {Flag::kEnvironment, {}, {"--env=A=b"}},
      {Flag::kLogDirectory, {}, {"--log-dir=/l"}},
      {Flag::kPage, {}, {"--page=8080"}},
      {Flag::kMetrics, {}, {"--metrics=9400"}},
      {Flag::kTrace, {}, {"--trace=/t"}},
      {Flag::kProgramDirectory, {}, {"--bin-dir=/b"}},
      {Flag::kStartTimeout, {}, {"--start-timeout=7"}},
      {Flag::kSettle, {}, {"--settle=7"}},
      {Flag::kDrain, {}, {"--drain=7"}},
      {Flag::kGrace, {}, {"--grace=7"}},
      {Flag::kDryRun, {}, {"--dry-run"}},
      {Flag::kCheck, {}, {"--check"}},
      {Flag::kPrint, {}, {}},  // It is the start method.
      {Flag::kName, {}, {"--name=other"}},
      {Flag::kNamespace, {}, {"--namespace=other"}},
      {Flag::kImage, {}, {"--image=other"}},
      {Flag::kProcessors, {}, {"--cpus=7"}},
      {Flag::kMemory, {}, {"--memory=7Gi"}},
  };
  return all;
}

Words words_of(StartMethod method) {
  switch (method) {
    case StartMethod::kLocal:
      return {"--via=local"};
    case StartMethod::kSsh:
      return {"--via=ssh", "-H", "home:1,a:1"};
    case StartMethod::kMpi:
      return {"--via=mpi", "-H", "home:1,a:1"};
    case StartMethod::kSlurm:
      return {"--via=slurm"};
    case StartMethod::kNodes:
      return {"--nnodes=2", "--rdzv-endpoint=home:9"};
    case StartMethod::kKubernetes:
      break;
  }
  return {"--print=k8s"};
}

Result<std::string> three_lines(const std::string&) { return std::string("home\nhome\nhome\n"); }

// The settings that the runner takes from the plan, apart from placement and commands.
std::string supervision_of(const Plan& plan) {
  const Limits& limits = plan.limits;
  return fmt::format("{} {} {} {} {} {} {} {} {}\n", seconds(limits.start), seconds(limits.settle),
                     seconds(limits.drain), seconds(limits.grace), plan.restarts,
                     plan.log_directory, plan.name, plan.interface, plan.directory);
}

// All effects of a launch, or the reason for its refusal.
std::string outcome(StartMethod method, const Words& before, const Words& words) {
  const bool pods = method == StartMethod::kKubernetes;
  Words line = words_of(method);
  line.insert(line.end(), before.begin(), before.end());
  line.insert(line.end(), words.begin(), words.end());
  line.insert(line.end(), {"--", "x"});
  const Result<Plan> plan = parse_arguments(line, three_lines);
  if (!plan.ok()) return plan.status().text();
  if (Status status = check_flags(*plan, method, is_own_name); !status.ok()) return status.text();
  if (pods) return *manifests(*plan, "t");
  const Variables slurm{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}};
  const Variables inherited = method == StartMethod::kSlurm ? slurm : Variables{};
  const Result<Placement> placement = place(*plan, inherited, is_own_name);
  if (!placement.ok()) return placement.status().text();
  const std::string folder = plan->program_directory;
  const Programs programs{folder + "/s", folder + "/v", "x", folder + "/l"};
  return fmt::format("{} {}", static_cast<int>(plan->action), supervision_of(*plan)) +
         *preview(*plan, *placement, programs, inherited);
}

TEST(LaunchStartMethods, EachFlagHasATrial) {
  std::set<Flag> tried{Flag::kAgent, Flag::kHelp, Flag::kVersion};
  for (const Trial& trial : trials()) tried.insert(trial.flag);
  for (int i = 0; i <= static_cast<int>(Flag::kVersion); ++i) {
    EXPECT_TRUE(tried.contains(static_cast<Flag>(i))) << "flag " << i << " of flags.h";
  }
}

TEST(LaunchStartMethods, MethodRefusesFlagOrFlagChangesJob) {
  for (const StartMethod method : kMethods) {
    for (const Trial& trial : trials()) {
      if (trial.words.empty()) continue;
      const bool local = method == StartMethod::kLocal;
      if (local && trial.flag == Flag::kOversubscribe) continue;
      const std::string what =
          fmt::format("{} with {}", fmt::join(trial.words, " "), name_of(method));
      const std::string with = outcome(method, trial.before, trial.words);
      EXPECT_NE(with, outcome(method, trial.before, {})) << what << " is dropped silently";
      const std::string_view remedy = refusal_of(trial.flag, method);
      if (remedy.empty()) continue;
      EXPECT_THAT(with, HasSubstr(remedy)) << what;
      EXPECT_THAT(with, HasSubstr(name_of(method))) << what;
    }
  }
}

TEST(LaunchStartMethods, HostsOfThisHostHaveSlotsAndNoStarter) {
  const Words hosts{"-H", "home:2", "-n", "3"};
  const auto local = [&](const Words& words) { return outcome(StartMethod::kLocal, hosts, words); };
  EXPECT_THAT(local({}), HasSubstr("--oversubscribe"));
  EXPECT_THAT(local({"--oversubscribe"}), HasSubstr("[worker 2]"));
  EXPECT_THAT(local({"--oversubscribe", "--starter=ssh"}), HasSubstr("[worker 2]"));
}

TEST(LaunchStartMethods, JoinRefusesFlagsOfLaunch) {
  for (const Trial& trial : trials()) {
    Words words{"node1:9000"};
    words.insert(words.end(), trial.words.begin(), trial.words.end());
    words.insert(words.end(), {"--", "x"});
    if (trial.words.empty()) continue;
    ASSERT_TRUE(wants_servers(words));
    const std::string cause = servers_wish(words).status().cause();
    EXPECT_THAT(cause, HasSubstr("is not understood")) << trial.words.front();
    EXPECT_THAT(cause, HasSubstr("join HOST:PORT -- PROGRAM"));
  }
}

TEST(LaunchStartMethods, MessageNamesFlagAndRemedy) {
  EXPECT_EQ(outcome(StartMethod::kKubernetes, {}, {"--log_dir=l"}),
            "InvalidArgument: --log-dir has no effect with --print k8s: kubectl logs shows what "
            "pods print; leave it out");
  EXPECT_THAT(outcome(StartMethod::kLocal, {}, {"--image=i"}), HasSubstr("give --print k8s"));
  EXPECT_THAT(outcome(StartMethod::kLocal, {}, {"--scheduler-host=b"}),
              HasSubstr("--scheduler-host b has no effect with --via local"));
  EXPECT_THAT(outcome(StartMethod::kLocal, {}, {"--scheduler-host=home"}), HasSubstr("[worker 0]"));
  EXPECT_THAT(outcome(StartMethod::kKubernetes, {}, {"--via=ssh"}), HasSubstr("leave it out"));
}

TEST(LaunchStartMethods, ActionsExcludeOneAnother) {
  for (const Words& words : {Words{"--dry-run", "--check"}, Words{"--print=k8s", "--dry-run"},
                             Words{"--check", "--print=k8s"}}) {
    Words line = words;
    line.emplace_back("x");
    EXPECT_THAT(parse_arguments(line, three_lines).status().cause(),
                HasSubstr("exclude one another"));
  }
  EXPECT_EQ(parse_arguments(Words{"--check", "--help"}, three_lines)->action, Action::kHelp);
}

TEST(LaunchStartMethods, JoinTakesNoFlagBefore) {
  EXPECT_THAT(
      parse_arguments(Words{"-n", "2", "join", "a:9000", "x"}, three_lines).status().cause(),
      HasSubstr("join comes first"));
  EXPECT_TRUE(parse_arguments(Words{"join", "a.txt", "b.txt"}, three_lines).ok()) << "coreutils";
}

TEST(LaunchStartMethods, PodsGetCheckpointFolderAndGrace) {
  const std::string text = outcome(StartMethod::kKubernetes, {},
                                   {"--checkpoint=/ck", "--checkpoint-every=10m", "--resume=/old",
                                    "--chdir=/w", "--grace=1.5", "--bin-dir=/opt/bin"});
  EXPECT_THAT(text, HasSubstr(R"({name: "STRETTO_CHECKPOINT", value: "/ck"})"));
  EXPECT_THAT(text, HasSubstr(R"({name: "STRETTO_CHECKPOINT_EVERY_S", value: "600"})"));
  EXPECT_THAT(text, HasSubstr(R"({name: "STRETTO_RESUME", value: "/old"})"));
  EXPECT_THAT(text, HasSubstr(R"(workingDir: "/w")"));
  EXPECT_THAT(text, HasSubstr("terminationGracePeriodSeconds: 2\n"));
  EXPECT_THAT(text, HasSubstr(R"(command: ["/opt/bin/stretto-server"])"));
  for (const char* flag : {"--checkpoint=ck", "--chdir=w", "--bin-dir=b"}) {
    EXPECT_THAT(outcome(StartMethod::kKubernetes, {}, {flag}), HasSubstr("begins with /")) << flag;
  }
}

}  // namespace
}  // namespace stretto::launch
