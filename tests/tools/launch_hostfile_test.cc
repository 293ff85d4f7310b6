// SPDX-License-Identifier: Apache-2.0
// Multi-host jobs, without hosts: placement, commands, and the rendezvous address.
#include <gtest/gtest.h>

#include <limits>

#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/kubernetes.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/rendezvous.h"
#include "tools/launch/remote/agent.h"

namespace stretto::launch {
namespace {

using Words = std::vector<std::string>;
using Sites = std::vector<std::size_t>;

const Programs kPrograms{"/b/s", "/b/v", "train", "/b/stretto-launch"};

bool is_home(const std::string& name) { return name == "home" || name == "localhost"; }

Plan plan_with_file(const Words& words, const std::string& file = {}) {
  const Result<Plan> plan =
      parse_arguments(words, [&](const std::string&) -> Result<std::string> { return file; });
  EXPECT_TRUE(plan.ok()) << plan.status().text();
  return plan.ok() ? *plan : Plan{};
}

Placement placed(const Plan& plan, const Variables& inherited = {}) {
  const Result<Placement> placement = place(plan, inherited, is_home);
  EXPECT_TRUE(placement.ok()) << placement.status().text();
  return placement.ok() ? *placement : Placement{};
}

std::string refusal(const Plan& plan, const Variables& inherited = {}) {
  const Result<Placement> placement = place(plan, inherited, is_home);
  EXPECT_EQ(placement.status().code(), Code::kInvalidArgument);
  return placement.status().cause();
}

TEST(LaunchPlacement, WorkersFillSlotsAndServersTakeTurns) {
  const Placement placement = placed(
      plan_with_file({"--hostfile=f", "-s", "4", "x"}, "home slots=1\na slots=2\nb slots=1\n"));
  EXPECT_EQ(placement.via, Via::kSsh);
  EXPECT_EQ(placement.sites, (std::vector<Site>{{"this host", true}, {"a", false}, {"b", false}}));
  //                                    scheduler, servers, workers
  EXPECT_EQ(placement.site_of, (Sites{0, 0, 1, 2, 0, 0, 1, 1, 2}));
  EXPECT_EQ(placement.members_at(1), (Sites{2, 6, 7}));
}

TEST(LaunchPlacement, EachOfSeveralHostsHasServer) {
  EXPECT_EQ(placed(plan_with_file({"-H", "home:1,a:2,b:1,a:1", "x"})).site_of,
            (Sites{0, 0, 1, 2, 0, 1, 1, 2, 1}));
  EXPECT_EQ(plan_with_file({"--hostfile=f", "x"}, "a\nb\n").servers, 2U);
  EXPECT_EQ(plan_with_file({"-H", "a,b", "-s", "1", "x"}).servers, 1U);
  EXPECT_EQ(plan_with_file({"-H", "a,b", "-s", "0", "x"}).servers, 0U);
  EXPECT_EQ(plan_with_file({"-H", "localhost:2,127.0.0.1", "x"}).servers, 1U);
  EXPECT_EQ(plan_with_file({"--via=mpi", "-H", "a,b", "x"}).servers, 1U) << "ranks go anywhere";
  EXPECT_EQ(plan_with_file({"-H", "a,b", "-n", "1:2", "x"}).servers, 1U) << "hosts may be lost";
  EXPECT_EQ(plan_with_file({"-H", "a,b", "-n", "1:2", "--replicas=2", "x"}).servers, 2U);
}

TEST(LaunchPlacement, PlacesStandbyOnOtherHost) {
  const Placement placement =
      placed(plan_with_file({"-H", "a,b,c", "-s", "4", "--replicas=2", "x"}));
  EXPECT_EQ(placement.site_of, (Sites{0, 1, 2, 3, 1, 2, 3, 1, 2, 1, 2, 3}));
}

TEST(LaunchPlacement, AJobWithoutServersIsItsSchedulerAndItsWorkers) {
  EXPECT_EQ(placed(plan_with_file({"-H", "a:1,b:1", "-s", "0", "x"})).site_of, (Sites{0, 1, 2}));
  EXPECT_EQ(placed(plan_with_file({"-n", "2", "-s", "0", "x"})).site_of, (Sites{0, 0, 0}));
  const Result<Plan> refused =
      parse_arguments(Words{"--server-hostfile=f", "-s", "0", "x"},
                      [](const std::string&) -> Result<std::string> { return std::string("a\n"); });
  EXPECT_EQ(refused.status().cause(),
            "--servers is 0, and --server-hostfile says where servers run; leave out one");
}

TEST(LaunchPlacement, FewerWorkersLeaveHostsWithoutThem) {
  EXPECT_EQ(placed(plan_with_file({"-H", "a:2,b:2", "-n", "1", "x"})).site_of, (Sites{0, 1, 2, 1}));
}

TEST(LaunchPlacement, MoreWorkersThanSlotsMustBeMeant) {
  EXPECT_EQ(refusal(plan_with_file({"-H", "a:2,b", "-n", "5", "x"})),
            "5 workers, and the hosts have 3 slots; give more slots, start fewer workers, or say "
            "--oversubscribe");
  EXPECT_EQ(placed(plan_with_file({"-H", "a:2,b", "-n", "5", "--oversubscribe", "x"})).site_of,
            (Sites{0, 1, 2, 1, 1, 2, 1, 1}));
  const std::string too_few =
      "5 workers, and the hosts have 4 slots; give more slots, start fewer workers, or say "
      "--oversubscribe";
  EXPECT_EQ(refusal(plan_with_file({"-H", "localhost:2,localhost:2", "-n", "5", "x"})), too_few);
  EXPECT_EQ(refusal(plan_with_file({"--via=mpi", "-H", "a:2,b:2", "-n", "5", "x"})), too_few);
  EXPECT_EQ(
      placed(plan_with_file({"-H", "localhost:2", "-n", "3", "--oversubscribe", "x"})).workers, 3u);
}

TEST(LaunchPlacement, ServersAndSchedulerMayHaveHostsOfTheirOwn) {
  const Plan plan =
      plan_with_file({"-H", "a", "--server-hostfile=f", "--scheduler-host=c", "x"}, "b\nc\nb\n");
  EXPECT_EQ(placed(plan).site_of, (Sites{3, 2, 3, 2, 1}));
}

TEST(LaunchPlacement, SelectsLaunchMethodByEnvironment) {
  const Variables slurm{{"SLURM_JOB_ID", "7"}};
  EXPECT_EQ(via_of(plan_with_file({"x"}), {}, is_home), Via::kLocal);
  EXPECT_EQ(via_of(plan_with_file({"-H", "localhost:2", "x"}), {}, is_home), Via::kLocal);
  EXPECT_EQ(via_of(plan_with_file({"-H", "localhost:2,a", "x"}), {}, is_home), Via::kSsh);
  EXPECT_EQ(via_of(plan_with_file({"x"}), slurm, is_home), Via::kSlurm);
  EXPECT_EQ(via_of(plan_with_file({"-H", "localhost:2", "x"}), slurm, is_home), Via::kLocal);
  EXPECT_EQ(via_of(plan_with_file({"--via=local", "x"}), slurm, is_home), Via::kLocal);
  EXPECT_NE(refusal(plan_with_file({"--via=local", "-H", "a", "x"})).find("'a' is not this one"),
            std::string::npos);
}

TEST(LaunchPlacement, ElasticJobStartsWithWorkersThatFitSlots) {
  Plan plan;
  plan.workers = 4;
  EXPECT_EQ(workers_that_fit(plan, 3), 4U) << "a job of fixed size is refused later";
  plan.least_workers = 2;
  EXPECT_EQ(workers_that_fit(plan, 3), 3U);
  EXPECT_EQ(workers_that_fit(plan, 8), 4U);
  EXPECT_EQ(workers_that_fit(plan, 1), 4U) << "these are too few";
  EXPECT_EQ(workers_that_fit(plan, 0), 4U) << "nobody has said how many there are";
  plan.oversubscribe = true;
  EXPECT_EQ(workers_that_fit(plan, 3), 4U);
}

TEST(LaunchPlacement, SlurmTellsSlotsByNode) {
  const Variables inherited{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2(x2),1"}};
  const Placement placement = placed(plan_with_file({"-n", "5", "-s", "2", "x"}), inherited);
  EXPECT_EQ(placement.via, Via::kSlurm);
  EXPECT_EQ(placement.sites.size(), 4u);
  EXPECT_EQ(placement.sites[2].name, "node 1 of Slurm job 7");
  EXPECT_EQ(placement.site_of, (Sites{0, 1, 2, 1, 1, 2, 2, 3}));
  EXPECT_EQ((*slurm_allocation(inherited))->all_slots(), 5u);
  EXPECT_NE(
      refusal(plan_with_file({"-n", "6", "x"}), inherited)
          .find("Slurm job 7 (SLURM_JOB_ID; --via local starts all on this host) has 5 slots"),
      std::string::npos);
  EXPECT_NE(refusal(plan_with_file({"--via=slurm", "x"})).find("SLURM_JOB_ID is not set"),
            std::string::npos);
  for (const char* wrong : {"x", "2(x", "2(x3", "0", "2(x0)", "2,,1", "9(x99999)", "1 "}) {
    const Status status =
        slurm_allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", wrong}}).status();
    EXPECT_EQ(status.code(), Code::kMalformed) << wrong;
  }
}

TEST(LaunchPlacement, HeterogeneousJobIsRefused) {
  for (const Variables& parts :
       {Variables{{"SLURM_HET_SIZE", "2"}},
        Variables{{"SLURM_TASKS_PER_NODE", "2"}, {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "1(x2)"}}}) {
    Variables inherited = parts;
    inherited["SLURM_JOB_ID"] = "7";
    const Status status = slurm_allocation(inherited).status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_NE(status.cause().find("Slurm job 7 is heterogeneous"), std::string::npos);
    EXPECT_NE(status.cause().find("--via local"), std::string::npos);
  }
}

TEST(LaunchPlacement, JobIdAloneNamesItselfAndRemedy) {
  const std::string cause = refusal(plan_with_file({"-n", "2", "x"}), {{"SLURM_JOB_ID", "7"}});
  EXPECT_NE(cause.find("SLURM_JOB_ID is '7'"), std::string::npos) << cause;
  EXPECT_NE(cause.find("--via local"), std::string::npos) << cause;
}

TEST(LaunchPlacement, ManyLaunchersAreRefused) {
  const Plan plan = plan_with_file({"x"});
  EXPECT_TRUE(require_one_launcher(plan, {}).ok());
  EXPECT_TRUE(require_one_launcher(plan, {{"OMPI_COMM_WORLD_SIZE", "1"}}).ok());
  EXPECT_TRUE(require_one_launcher(plan_with_file({"--via=local", "x"}), {{"PMI_SIZE", "4"}}).ok());
  // In a batch script, before any step.
  EXPECT_TRUE(require_one_launcher(plan, {{"SLURM_STEP_NUM_TASKS", "4"}}).ok());
  EXPECT_NE(require_one_launcher(plan, {{"OMPI_COMM_WORLD_SIZE", "4"}})
                .cause()
                .find("mpirun has started 4 of these launchers"),
            std::string::npos);
  EXPECT_NE(require_one_launcher(plan, {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_ID", "0"}})
                .cause()
                .find("srun has started 4"),
            std::string::npos);
}

TEST(LaunchPlacement, LocalRanksCountTheWorkersOfAMachine) {
  const Plan plan = plan_with_file({"--via=mpi", "-n", "3", "x"});
  const Placement placement = placed(plan);
  EXPECT_EQ(placement.sites.size(), 6u);
  EXPECT_EQ(placement.sites[3].name, "mpirun's rank 2 (worker 0)");
  const std::vector<LocalRank> ranks =
      local_ranks(members_of(plan), placement, {"h", "a", "a", "a", "b", "a"});
  EXPECT_EQ(ranks[2], (LocalRank{0, 2}));
  EXPECT_EQ(ranks[3], (LocalRank{0, 1}));
  EXPECT_EQ(ranks[4], (LocalRank{1, 2}));
}

TEST(LaunchCarriers, SshGetsOneTextForTheShellThere) {
  const Plan plan = plan_with_file({"-H", "me@a", "--starter", "ssh -p 22 -F 'my config'", "x"});
  const Programs programs{"", "", "", "/it's here/stretto-launch"};
  const Command command = *carrier_of(plan, placed(plan), 1, programs, {{"A", "b"}});
  EXPECT_EQ(command.path, "ssh");
  EXPECT_EQ(Words(command.arguments.begin(), command.arguments.begin() + 5),
            (Words{"ssh", "-p", "22", "-F", "my config"}));
  EXPECT_EQ(command.arguments[command.arguments.size() - 2], "me@a");
  EXPECT_EQ(command.arguments.back(), "exec '/it'\\''s here/stretto-launch' --agent");
  EXPECT_EQ(command.environment, (Variables{{"A", "b"}}));
  const Plan usual = plan_with_file({"-H", "a", "x"});
  EXPECT_EQ(
      carrier_of(usual, placed(usual), 1, kPrograms, {{"STRETTO_STARTER", "rsh -4"}})->arguments[1],
      "-4");
  EXPECT_FALSE(carrier_of(plan_with_file({"-H", "a", "--starter='ssh", "x"}), placed(usual), 1,
                          kPrograms, {})
                   .ok());
}

TEST(LaunchCarriers, SrunTakesANodeOfTheAllocation) {
  const Plan plan = plan_with_file({"-n", "2", "x"});
  const Variables slurm{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}};
  const Words words = carrier_of(plan, placed(plan, slurm), 2, kPrograms, slurm)->arguments;
  EXPECT_EQ(words[0], "srun");
  EXPECT_NE(std::find(words.begin(), words.end(), "--relative=1"), words.end());
  EXPECT_EQ(words.back(), "--agent");
}

TEST(LaunchCarriers, MpirunStartsAnAgentForEachMember) {
  const Plan plan = plan_with_file({"--via=mpi", "-H", "a:1,b:2,a:1", "-s", "2", "x"});
  const Command command = *mpirun_of(plan, placed(plan), kPrograms, {});
  EXPECT_EQ(command.arguments, (Words{"mpirun", "--oversubscribe", "--bind-to", "none", "--host",
                                      "a:2,b:2", "-np", "7", "-x", "STRETTO_LAUNCH_AT", "-x",
                                      "STRETTO_LAUNCH_SECRET", "/b/stretto-launch", "--agent"}));
  const Plan bound = plan_with_file({"--via=mpi", "--starter=mpirun -bind-to core", "x"});
  const Words words = mpirun_of(bound, placed(bound), kPrograms, {})->arguments;
  EXPECT_EQ(std::count(words.begin(), words.end(), "none"), 0);
}

TEST(LaunchCarriers, WordsAreReadAsAShellDoes) {
  EXPECT_EQ(*shell_words("  a 'b  c' \"d'e\" f\\ g \"\\\"\" '' x'y'z\t"),
            (Words{"a", "b  c", "d'e", "f g", "\"", "", "xyz"}));
  EXPECT_EQ(shell_words("ssh 'x").status().cause(),
            "the starter is 'ssh 'x', wanted each quote closed");
}

class LaunchMeeting : public testing::Test {
 protected:
  LaunchMeeting() {
    hellos_[0].host = "home";
    hellos_[0].interfaces = {"eth0=192.0.2.1", "eth1=198.51.100.1", "lo=127.0.0.1"};
    for (const std::size_t site : {std::size_t{1}, std::size_t{2}}) {
      AgentHello& hello = hellos_[site];
      hello.host = "same";  // As hosts with one image may name themselves.
      hello.launcher_address = "198.51.100.1";
      hello.own_address = "198.51.100." + std::to_string(site + 1);
      hello.interfaces = {"eth0=192.0.2." + std::to_string(site + 1), "lo=127.0.0.1"};
    }
  }
  Result<Meeting> meet_with(const Words& flags) {
    Words words{"-H", "a,b"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.emplace_back("x");
    plan_ = plan_with_file(words);
    return meet(plan_, placed(plan_), hellos_);
  }

  Plan plan_;
  std::vector<AgentHello> hellos_ = std::vector<AgentHello>(3);
};

TEST_F(LaunchMeeting, TheAddressIsTheOneThatHostsSee) {
  const Result<Meeting> meeting = meet_with({});
  ASSERT_TRUE(meeting.ok()) << meeting.status().text();
  EXPECT_EQ(meeting->scheduler_host, "198.51.100.1");
  EXPECT_EQ(meeting->master_host, "198.51.100.2");
  EXPECT_EQ(meeting->machines, (Words{"this host", "a", "b"}));
  EXPECT_EQ(meeting->bind_hosts, (Words{"0.0.0.0", "0.0.0.0", "0.0.0.0"}));
}

TEST_F(LaunchMeeting, AnInterfaceIsTakenOnEveryHost) {
  const Result<Meeting> meeting = meet_with({"--interface=eth0"});
  ASSERT_TRUE(meeting.ok()) << meeting.status().text();
  EXPECT_EQ(meeting->scheduler_host, "192.0.2.1");
  EXPECT_EQ(meeting->bind_hosts, (Words{"192.0.2.1", "192.0.2.2", "192.0.2.3"}));
  EXPECT_EQ(meet_with({"--interface=ib0"}).status().cause(),
            "--interface is 'ib0', and this host has no address there; it has eth0=192.0.2.1, "
            "eth1=198.51.100.1, lo=127.0.0.1");
}

TEST_F(LaunchMeeting, ASchedulerElsewhereIsFoundThere) {
  const Result<Meeting> meeting = meet_with({"--scheduler-host=b"});
  ASSERT_TRUE(meeting.ok()) << meeting.status().text();
  EXPECT_EQ(meeting->scheduler_host, "198.51.100.3");
}

TEST_F(LaunchMeeting, IgnoresMembersWithoutSite) {
  plan_ = plan_with_file({"-H", "a,b", "x"});
  Placement placement = placed(plan_);
  placement.site_of.resize(placement.site_of.size() + 9, std::numeric_limits<std::size_t>::max());
  const Result<Meeting> meeting = meet(plan_, placement, hellos_);
  ASSERT_TRUE(meeting.ok()) << meeting.status().text();
  EXPECT_EQ(meeting->master_host, meet(plan_, placed(plan_), hellos_)->master_host);
}

TEST_F(LaunchMeeting, AGatewayBetweenIsNoticed) {
  for (AgentHello& hello : hellos_) hello.launcher_address = "203.0.113.9";
  const Status status = meet_with({}).status();
  EXPECT_EQ(status.code(), Code::kNetwork);
  for (const char* word :
       {"203.0.113.9", "none of its addresses", "--interface", "--scheduler-host"}) {
    EXPECT_NE(status.cause().find(word), std::string::npos) << status.cause();
  }
}

TEST_F(LaunchMeeting, HereAloneAndOnOneNodeItIsLoopback) {
  const Plan alone = plan_with_file({"-n", "2", "x"});
  EXPECT_EQ(meet(alone, placed(alone), {hellos_[0]})->scheduler_host, "127.0.0.1");
  const Plan open = plan_with_file({"-n", "2", "--interface=eth0", "x"});  // For external workers.
  const Result<Meeting> others = meet(open, placed(open), {hellos_[0]});
  EXPECT_EQ(others->scheduler_host, "192.0.2.1");
  EXPECT_EQ(others->bind_hosts, Words{"192.0.2.1"});
  const Plan wrong = plan_with_file({"-n", "2", "--interface=ib0", "x"});
  EXPECT_EQ(meet(wrong, placed(wrong), {hellos_[0]}).status().code(), Code::kInvalidArgument);
  const Variables slurm{{"SLURM_JOB_ID", "7"}, {"SLURM_TASKS_PER_NODE", "2"}};
  const Placement node = placed(alone, slurm);
  hellos_.resize(2);
  hellos_[1].host = "home";
  const Result<Meeting> meeting = meet(alone, node, hellos_);
  EXPECT_EQ(meeting->scheduler_host, "127.0.0.1");
  EXPECT_EQ(meeting->bind_hosts, (Words{"", ""}));
}

TEST(LaunchGathering, AgentsOfMpirunAreToldWhereToCome) {
  const Words interfaces{"eth0=192.0.2.1", "eth1=198.51.100.1", "lo=127.0.0.1"};
  EXPECT_EQ(addresses_to_come_to({}, interfaces, true, 7), "127.0.0.1:7");
  EXPECT_EQ(addresses_to_come_to({}, interfaces, false, 7), "192.0.2.1:7,198.51.100.1:7");
  EXPECT_EQ(addresses_to_come_to("eth1", interfaces, false, 7), "198.51.100.1:7");
  EXPECT_TRUE(mpirun_stays_here(plan_with_file({"-H", "localhost", "x"}), {}, is_home));
  EXPECT_FALSE(mpirun_stays_here(plan_with_file({"-H", "localhost,a", "x"}), {}, is_home));
  EXPECT_FALSE(mpirun_stays_here(plan_with_file({"x"}), {{"PBS_NODEFILE", "/n"}}, is_home));
}

TEST(LaunchGathering, AnAgentKnowsHowItWasStarted) {
  const Variables ssh{{"SSH_CONNECTION", "192.0.2.1 51000 192.0.2.2 22"}};
  AgentHello hello = hello_from(ssh, "a", {});
  EXPECT_EQ(hello.rank, -1);
  EXPECT_EQ(hello.launcher_address, "192.0.2.1");
  EXPECT_EQ(hello.own_address, "192.0.2.2");
  // Slurm and mpirun pass on the connection of their user's login.
  Variables slurm = ssh;
  slurm["SLURM_STEP_ID"] = "0";
  slurm["SLURM_LAUNCH_NODE_IPADDR"] = "198.51.100.1";
  hello = hello_from(slurm, "a", {});
  EXPECT_EQ(hello.launcher_address, "198.51.100.1");
  EXPECT_EQ(hello.own_address, "");
  Variables mpi = ssh;
  mpi[kLaunchSecret] = "s";
  mpi["OMPI_COMM_WORLD_RANK"] = "5";
  hello = hello_from(mpi, "a", {"eth0=192.0.2.7"});
  EXPECT_EQ(hello.rank, 5);
  EXPECT_EQ(hello.launcher_address, "");
  EXPECT_EQ(hello.address_of("eth0"), "192.0.2.7");
  EXPECT_EQ(hello.address_of("eth1"), "");
}

TEST(LaunchKubernetes, ValuesAreQuotedAndNotExpanded) {
  const Plan plan = plan_with_file({"--print=k8s", "--env", "A=$(B)$$ $x\n\"", "x", "\\"});
  const Result<std::string> text = manifests(plan, "t\"");
  ASSERT_TRUE(text.ok()) << text.status().text();
  EXPECT_NE(text->find(R"(value: "$$(B)$$$$ $$x\u000a\"")"), std::string::npos) << *text;
  EXPECT_NE(text->find(R"(command: ["x", "\\"])"), std::string::npos);
  EXPECT_NE(text->find(R"(token: "t\"")"), std::string::npos);
  EXPECT_EQ(*text, *manifests(plan, "t\""));
}

TEST(LaunchKubernetes, AJobWithoutServersHasNoneToCreate) {
  const std::string text = *manifests(plan_with_file({"--print=k8s", "-s", "0", "x"}), "t");
  EXPECT_EQ(text.find("stretto-server"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(name: "STRETTO_SERVERS", value: "0")"), std::string::npos);
  EXPECT_NE(text.find("\"stretto-workers\""), std::string::npos);
}

TEST(LaunchKubernetes, PortsMayBeChosen) {
  const auto count = [](const std::string& text, const std::string& words) {
    std::size_t found = 0;
    for (std::size_t at = text.find(words); at != std::string::npos;
         at = text.find(words, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::string usual = *manifests(plan_with_file({"--print=k8s", "x"}), "t");
  EXPECT_EQ(count(usual, "STRETTO_SERVER_PORT"), 0u);
  const std::string chosen = *manifests(plan_with_file({"--print=k8s", "--port=8000", "x"}), "t");
  EXPECT_EQ(count(chosen, "9700"), 0u);
  EXPECT_EQ(count(chosen, "8000"), count(usual, "9700"));
  EXPECT_EQ(count(chosen, R"(name: "STRETTO_SERVER_PORT", value: "8001")"), 1u);
}

}  // namespace
}  // namespace stretto::launch
