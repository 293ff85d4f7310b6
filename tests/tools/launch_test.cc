// SPDX-License-Identifier: Apache-2.0
// The meaning of a command line, and the variables of each process. Starts no process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/flags.h"
#include "tools/launch/plan/hostfile.h"
#include "tools/launch/process/system.h"

namespace stretto::launch {
namespace {

using Words = std::vector<std::string>;

Result<Plan> parse(const Words& words, const std::map<std::string, std::string>& files = {}) {
  return parse_arguments(words, [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return Status(Code::kInvalidArgument, "cannot read '" + path + "'");
    return found->second;
  });
}

Plan plan_of(const Words& words, const std::map<std::string, std::string>& files = {}) {
  const Result<Plan> plan = parse(words, files);
  EXPECT_TRUE(plan.ok()) << plan.status().text();
  return plan.ok() ? *plan : Plan{};
}

std::string cause_of(const Words& words, Code code = Code::kInvalidArgument) {
  const Status status = parse(words).status();
  EXPECT_EQ(status.code(), code) << status.text();
  return status.cause();
}

TEST(LaunchArguments, OnlyAProgramIsOneWorkerAndOneServer) {
  const Plan plan = plan_of({"train", "-n", "7", "--", "--workers"});
  EXPECT_EQ(plan.workers, 1u);
  EXPECT_EQ(plan.servers, 1u);
  EXPECT_EQ(plan.shards, 1u);
  EXPECT_EQ(plan.action, Action::kRun);
  EXPECT_EQ(plan.command, (Words{"train", "-n", "7", "--", "--workers"}));
}

TEST(LaunchArguments, TheProgramsWordsAreLeftAsTheyAre) {
  EXPECT_EQ(plan_of({"-n", "2", "--", "-odd", "a b", "", "$x", "--help"}).command,
            (Words{"-odd", "a b", "", "$x", "--help"}));
}

TEST(LaunchArguments, EverySpellingMeansTheSame) {
  for (const Words& words : {Words{"--workers", "3"}, Words{"--workers=3"}, Words{"-n", "3"},
                             Words{"-np", "3"}, Words{"--np=3"}, Words{"--num-workers", "3"},
                             Words{"--num_workers=3"}, Words{"-num_workers", "3"}}) {
    Words line = words;
    line.push_back("train");
    EXPECT_EQ(plan_of(line).workers, 3u) << words[0];
  }
  for (const Words& words : {Words{"--servers", "3"}, Words{"-s", "3"}, Words{"--num_servers=3"}}) {
    Words line = words;
    line.push_back("train");
    EXPECT_EQ(plan_of(line).servers, 3u) << words[0];
  }
  EXPECT_EQ(plan_of({"--log_dir=logs", "x"}).log_directory, "logs");
  EXPECT_EQ(plan_of({"--dry_run", "x"}).action, Action::kDryRun);
}

TEST(LaunchArguments, TimesAreInSeconds) {
  const Plan plan =
      plan_of({"--start-timeout=5", "--settle", "0.5", "--grace=0", "--drain=2", "x"});
  EXPECT_EQ(plan.limits.start, 5s);
  EXPECT_EQ(plan.limits.settle, 500ms);
  EXPECT_EQ(plan.limits.grace, 0s);
  EXPECT_EQ(plan.limits.drain, 2s);
  EXPECT_EQ(plan.start_timeout, "5");
  EXPECT_EQ(plan_of({"x"}).limits.settle, 3s);
}

TEST(LaunchArguments, HelpAndVersionEndTheReading) {
  EXPECT_EQ(plan_of({"--help", "--nonsense"}).action, Action::kHelp);
  EXPECT_EQ(plan_of({"--version"}).action, Action::kVersion);
  EXPECT_EQ(plan_of({"--check"}).action, Action::kCheck);
}

TEST(LaunchArguments, AnUnknownFlagIsNamedWithTheNearestKnownOne) {
  EXPECT_EQ(cause_of({"--wrokers=2", "x"}),
            "unknown flag --wrokers; did you mean --workers? --help lists all");
  EXPECT_EQ(nearest_flag("num-server"), "--num-servers");
  EXPECT_EQ(nearest_flag("log-dri"), "--log-dir");
  EXPECT_EQ(nearest_flag("npp"), "-np");
  EXPECT_EQ(nearest_flag("nonsense"), "");
  EXPECT_EQ(nearest_flag("\xff"), "");
}

TEST(LaunchArguments, ValuesAreChecked) {
  EXPECT_EQ(cause_of({"-n", "0", "x"}), "-n is '0', wanted a whole number from 1 to 4096");
  EXPECT_EQ(cause_of({"--servers=2x", "x"}),
            "--servers is '2x', wanted a whole number from 0 to 1024");
  EXPECT_EQ(cause_of({"--workers", "--", "x"}),
            "--workers is '--', wanted a whole number from 1 to 4096");
  for (const char* value : {"2:", ":2", "2:4:5", "a:b", "3:2", "0:2", "2:4097"}) {
    EXPECT_EQ(cause_of({"--workers", value, "x"}),
              fmt::format("--workers is '{}', wanted N, or MIN:MAX with MIN at most MAX, each a "
                          "whole number from 1 to 4096",
                          value));
  }
  EXPECT_EQ(cause_of({"--shards"}), "--shards has no value");
  EXPECT_EQ(cause_of({"--dry-run=no", "x"}), "--dry-run takes no value, found '--dry-run=no'");
  EXPECT_EQ(cause_of({"--settle=nan", "x"}), "--settle is 'nan', wanted seconds from 0 to 86400");
  EXPECT_EQ(cause_of({"--log-dir=", "x"}), "--log-dir is empty");
  EXPECT_NE(cause_of({"-n", "2", "--"}).find("no PROGRAM"), std::string::npos);
  EXPECT_NE(cause_of({}).find("no PROGRAM"), std::string::npos);
}

TEST(LaunchArguments, AJobMayHaveNoServersUnlessItWantsSome) {
  const Plan plan = plan_of({"-n", "2", "--servers=0", "--port=65535", "x"});
  EXPECT_EQ(plan.servers, 0u);
  EXPECT_EQ(members_of(plan).size(), 3u);
  EXPECT_EQ(cause_of({"-n", "1:2", "-s", "0", "x"}),
            "--servers is 0, and --workers is 1:2: a job goes on without workers that are lost by "
            "what its servers keep; start a server, or give --workers 2");
}

TEST(LaunchArguments, PortsOfAJobMustExist) {
  EXPECT_EQ(plan_of({"--port=9700", "x"}).port, 9700u);
  EXPECT_EQ(plan_of({"--port=0", "x"}).port, 0u) << "free ones, as messages advise";
  EXPECT_EQ(cause_of({"--port=65536", "x"}),
            "--port is '65536', wanted a whole number from 0 to 65535");
  EXPECT_EQ(plan_of({"--port=65531", "-s", "2", "--shards=2", "x"}).port, 65531u);
  EXPECT_EQ(cause_of({"--port=65532", "-s", "2", "--shards=2", "x"}),
            "--port is 65532, and 2 servers of 2 shards follow it: the last would have port 65536, "
            "and there are 65535");
}

TEST(LaunchArguments, WaysToOtherHosts) {
  EXPECT_EQ(plan_of({"--launcher", "ssh", "-H", "a", "x"}).via, Via::kSsh);
  EXPECT_EQ(plan_of({"--via=mpi", "x"}).via, Via::kMpi);
  EXPECT_EQ(plan_of({"--via=slurm", "x"}).via, Via::kSlurm);
  EXPECT_EQ(plan_of({"--via=local", "x"}).via, Via::kLocal);
  EXPECT_EQ(plan_of({"x"}).via, std::nullopt);
  EXPECT_EQ(cause_of({"--via=telnet", "x"}), "--via is 'telnet', wanted local, ssh, mpi or slurm");
  const Plan plan = plan_of({"-H", "a:2,b", "--scheduler-ip=b", "--wd", "/w", "--starter", "ssh -v",
                             "--interface=eth1", "--oversubscribe", "x"});
  EXPECT_EQ(plan.hosts, (std::vector<HostSlots>{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(plan.scheduler_host, "b");
  EXPECT_EQ(plan.directory, "/w");
  EXPECT_EQ(plan.starter, "ssh -v");
  EXPECT_EQ(plan.interface, "eth1");
  EXPECT_TRUE(plan.oversubscribe);
  EXPECT_EQ(cause_of({"--scheduler-host=a,b", "x"}), "--scheduler-host is 'a,b', wanted one host");
}

TEST(LaunchArguments, HostsOfThisHostGiveTheNumbersThatAreNotGiven) {
  EXPECT_EQ(plan_of({"-H", "localhost:3,127.0.0.1", "x"}).workers, 4u);
  EXPECT_EQ(plan_of({"-n", "2", "-H", "localhost:3", "x"}).workers, 2u);
  EXPECT_EQ(plan_of({"--hostfile=f", "x"}, {{"f", "localhost slots=5\n"}}).workers, 5u);
  const Plan plan = plan_of({"--worker-hostfile=w", "--server_hostfile", "s", "x"},
                            {{"w", "127.0.0.1\nlocalhost:22\n"}, {"s", "# one\n::1\n"}});
  EXPECT_EQ(plan.workers, 2u);
  EXPECT_EQ(plan.servers, 1u);
  EXPECT_EQ(cause_of({"--hostfile=absent", "x"}), "cannot read 'absent'");
}

TEST(LaunchArguments, VariablesAreCollectedAndTheJobsOwnAreRefused) {
  const Plan plan = plan_of({"--env", "A=1", "--env=B=x=y", "x"});
  EXPECT_EQ(plan.added_environment,
            (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "x=y"}}));
  EXPECT_EQ(cause_of({"--env", "A", "x"}), "--env is 'A', wanted NAME=VALUE");
  EXPECT_EQ(cause_of({"--env=RANK=1", "x"}), "--env RANK: the launcher gives each process its own");
  EXPECT_NE(cause_of({"--env=STRETTO_JOB_TOKEN=s", "x"}).find("export the variable"),
            std::string::npos);
}

TEST(LaunchHosts, FilesHaveSlotsCommentsAndBlanks) {
  const auto hosts =
      parse_hostfile("# mine\n\n a slots=2 # two\r\nb:3\n[::1]:4\n::1\nc max_slots=9 slots=5", "f");
  ASSERT_TRUE(hosts.ok()) << hosts.status().text();
  EXPECT_EQ(*hosts, (std::vector<HostSlots>{{"a", 2}, {"b", 3}, {"::1", 4}, {"::1", 1}, {"c", 5}}));
  EXPECT_EQ(slots_of(*hosts), 15u);
  for (const char* wrong : {"", "# none", "a slots=0", "a slots=x", "a:99999", "a b"}) {
    EXPECT_EQ(parse_hostfile(wrong, "f").status().code(), Code::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(parse_host_list("a,,b").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(parse_hostfile("\xef\xbb\xbf"
                           "a slots=2\r\n",
                           "f")
                ->front(),
            (HostSlots{"a", 2}));
  EXPECT_FALSE(parse_hostfile(std::string_view("a\0b slots=2", 12), "f").ok());
}

TEST(LaunchHosts, RejectsUnreadableHostFile) {
  const auto cause = [](const std::string& path) { return read_file(path).status().cause(); };
  EXPECT_EQ(cause("/nonexistent"), "cannot read '/nonexistent': No such file or directory");
  EXPECT_EQ(cause(testing::TempDir()), "cannot read '" + testing::TempDir() + "': Is a directory");
  EXPECT_NE(cause("/dev/zero").find("has more than 1048576 bytes"), std::string::npos);
  EXPECT_EQ(*read_file("/dev/null"), "");
}

TEST(LaunchHosts, ErrorsNameLineFoundAndWanted) {
  EXPECT_EQ(parse_hostfile("a\n\nb slots=two\n", "my/hosts").status().cause(),
            "my/hosts:3: host 'b slots=two' has 'two' slots, wanted a whole number from 1 to 4096");
  EXPECT_EQ(parse_hostfile("a cpus=2", "hosts").status().cause(),
            "hosts:1: found 'a cpus=2', wanted 'host slots=N'");
  EXPECT_EQ(parse_hostfile("# none\n", "hosts").status().cause(),
            "hosts: the host file names no host");
  // An ssh option, and shell syntax.
  for (const char* wrong : {"-oProxyCommand=touch", "a;b", "$(c)", "`d`", "a\x01", "\x1b[2J"}) {
    EXPECT_EQ(parse_hostfile(wrong, "hosts").status().cause(),
              std::string("hosts:1: '") + wrong + "' is no name of a host, wanted 'host slots=N'");
    EXPECT_FALSE(parse_process_hosts(wrong, "hosts").ok());
    EXPECT_FALSE(parse_host_list(wrong).ok());
  }
}

TEST(LaunchHosts, TheSameHostTwiceIsOneWithAllSlots) {
  EXPECT_EQ(merged({{"a", 2}, {"b", 1}, {"a", 3}}), (std::vector<HostSlots>{{"a", 5}, {"b", 1}}));
}

class LaunchEnvironment : public testing::Test {
 protected:
  Plan plan_ = plan_of({"-n", "3", "-s", "2", "--shards=4", "--env=A=new", "train", "a b"});
  Rendezvous rendezvous_{{"127.0.0.1", 41234}, "secret", {}};
  Seat seat_{{}, 2, 3};
  Programs programs_{"/b/s", "/b/v", "/b/w", "/b/l"};
};

TEST_F(LaunchEnvironment, WorkersThatShareAHostHaveOneThread) {
  const auto threads = [&](const Plan& plan, const JobMember& member, std::uint32_t local_size,
                           const Variables& inherited) {
    const Seat seat{{}, 0, local_size};
    return value_of(merged(inherited, variables_for(plan, member, rendezvous_, seat, inherited)),
                    "OMP_NUM_THREADS");
  };
  EXPECT_EQ(threads(plan_, {Role::kWorker, 0}, 3, {}), "1");
  EXPECT_EQ(threads(plan_, {Role::kWorker, 0}, 1, {}), "");
  EXPECT_EQ(threads(plan_, {Role::kServer, 0}, 3, {}), "");
  EXPECT_EQ(threads(plan_, {Role::kWorker, 0}, 3, {{"OMP_NUM_THREADS", "4"}}), "4");
  const Plan plan = plan_of({"-n", "3", "--env=OMP_NUM_THREADS=2", "train"});
  EXPECT_EQ(threads(plan, {Role::kWorker, 0}, 3, {}), "2");
}

TEST_F(LaunchEnvironment, TimesAreThoseOfTheMembers) {
  const char* name = "STRETTO_DEAD_AFTER_S";
  EXPECT_EQ(time_told(plan_, {}, name, 7s), 7s);
  EXPECT_EQ(time_told(plan_, {{name, "2.5"}}, name, 7s), 2500ms);
  const Plan plan = plan_of({"--env=STRETTO_DEAD_AFTER_S=20", "train"});
  EXPECT_EQ(time_told(plan, {{name, "2.5"}}, name, 7s), 20s);
  EXPECT_EQ(time_told(plan, {}, "STRETTO_RENDEZVOUS_TIMEOUT_S", 7s), 7s);
  for (const char* wrong : {"", "soon", "-1", "0", "nan", "1e99", "5 "}) {
    EXPECT_EQ(time_told(plan_, {{name, wrong}}, name, 7s), 7s);
  }
}

TEST_F(LaunchEnvironment, AWorkerIsToldInAllDialects) {
  EXPECT_EQ(variables_for(plan_, {Role::kWorker, 2}, rendezvous_, seat_, {}),
            (Variables{{"STRETTO_ROLE", "worker"},
                       {"STRETTO_RANK", "2"},
                       {"STRETTO_WORLD_SIZE", "3"},
                       {"STRETTO_SERVERS", "2"},
                       {"STRETTO_SHARDS", "4"},
                       {"STRETTO_SCHEDULER", "127.0.0.1:41234"},
                       {"STRETTO_JOB_TOKEN", "secret"},
                       {"DMLC_ROLE", "worker"},
                       {"DMLC_PS_ROOT_URI", "127.0.0.1"},
                       {"DMLC_PS_ROOT_PORT", "41234"},
                       {"DMLC_NUM_WORKER", "3"},
                       {"DMLC_NUM_SERVER", "2"},
                       {"DMLC_WORKER_ID", "2"},
                       {"BYTEPS_LOCAL_RANK", "0"},
                       {"BYTEPS_LOCAL_SIZE", "1"},
                       {"RANK", "2"},
                       {"LOCAL_RANK", "2"},
                       {"WORLD_SIZE", "3"},
                       {"LOCAL_WORLD_SIZE", "3"},
                       {"OMP_NUM_THREADS", "1"},
                       {"MASTER_ADDR", "127.0.0.1"},
                       {"MASTER_PORT", "21234"},
                       {"PYTHONUNBUFFERED", "1"},
                       {"A", "new"}}));
}

TEST_F(LaunchEnvironment, FixedPortsGoToThoseThatListen) {
  plan_.port = 9700;
  const Rendezvous before{{"127.0.0.1", 0}, "secret", {}};
  const Variables scheduler = variables_for(plan_, {Role::kScheduler, 0}, before, seat_, {});
  EXPECT_EQ(scheduler.at("STRETTO_SCHEDULER"), "127.0.0.1:9700");
  EXPECT_EQ(scheduler.at("DMLC_PS_ROOT_PORT"), "9700");
  EXPECT_EQ(
      variables_for(plan_, {Role::kServer, 1}, rendezvous_, seat_, {}).at("STRETTO_SERVER_PORT"),
      "9701");
  EXPECT_FALSE(variables_for(plan_, {Role::kWorker, 1}, rendezvous_, seat_, {})
                   .contains("STRETTO_SERVER_PORT"));
}

// The members' parser of these variables must agree with the launcher.
TEST_F(LaunchEnvironment, ConfigReadsGivenVariables) {
  for (const JobMember& member : members_of(plan_)) {
    const Variables given = variables_for(plan_, member, rendezvous_, seat_, {});
    const Environment look = [&](const std::string& name) -> std::optional<std::string> {
      const auto found = given.find(name);
      if (found == given.end()) return std::nullopt;
      return found->second;
    };
    const Result<Config> config = config_from(look, member.role);
    ASSERT_TRUE(config.ok()) << config.status().text();
    EXPECT_EQ(config->rank, member.rank);
    EXPECT_EQ(config->workers, 3u);
    EXPECT_EQ(config->servers, 2u);
    EXPECT_EQ(config->shards, 4u);
    EXPECT_EQ(config->scheduler, "127.0.0.1:41234");
    EXPECT_EQ(config->token, "secret");
  }
}

TEST_F(LaunchEnvironment, ServersGetNothingOfAWorkers) {
  const Variables given = variables_for(plan_, {Role::kServer, 1}, rendezvous_, seat_, {});
  EXPECT_EQ(given.at("DMLC_ROLE"), "server");
  EXPECT_EQ(given.at("STRETTO_RANK"), "1");
  for (const char* name : {"RANK", "DMLC_WORKER_ID", "BYTEPS_LOCAL_SIZE", "MASTER_PORT"}) {
    EXPECT_FALSE(given.contains(name)) << name;
  }
}

TEST_F(LaunchEnvironment, TheCallersVariablesStayButThoseOfAnotherJob) {
  const Variables inherited{{"HOME", "/root"},    {"A", "old"},           {"STRETTO_RANK", "9"},
                            {"LOCAL_RANK", "9"},  {"MASTER_PORT", "1"},   {"DMLC_WORKER_ID", "9"},
                            {"MASTER_ADDR", "h"}, {"STRETTO_ROLE", "odd"}};
  const Command server =
      command_of(plan_, {Role::kServer, 0}, programs_, rendezvous_, seat_, inherited);
  EXPECT_EQ(server.environment.at("HOME"), "/root");
  EXPECT_EQ(server.environment.at("A"), "new");
  EXPECT_EQ(server.environment.at("STRETTO_RANK"), "0");
  EXPECT_FALSE(server.environment.contains("LOCAL_RANK"));
  EXPECT_FALSE(server.environment.contains("DMLC_WORKER_ID"));
  const Command worker =
      command_of(plan_, {Role::kWorker, 0}, programs_, rendezvous_, seat_, inherited);
  EXPECT_EQ(worker.environment.at("MASTER_PORT"), "1");
  EXPECT_EQ(worker.environment.at("MASTER_ADDR"), "h");
}

TEST_F(LaunchEnvironment, TheStartTimeoutReachesEverybody) {
  EXPECT_FALSE(variables_for(plan_, {Role::kServer, 0}, rendezvous_, seat_, {})
                   .contains("STRETTO_RENDEZVOUS_TIMEOUT_S"));
  plan_.start_timeout = "7";
  for (const JobMember& member : members_of(plan_)) {
    EXPECT_EQ(
        variables_for(plan_, member, rendezvous_, seat_, {}).at("STRETTO_RENDEZVOUS_TIMEOUT_S"),
        "7");
  }
}

TEST_F(LaunchEnvironment, CommandsNeverCarryTheToken) {
  for (const JobMember& member : members_of(plan_)) {
    const Command command =
        command_of(plan_, member, programs_, rendezvous_, seat_, {{"PATH", "/bin"}});
    for (const std::string& argument : command.arguments) {
      EXPECT_EQ(argument.find("secret"), std::string::npos);
    }
  }
}

TEST_F(LaunchEnvironment, APreviewQuotesAndMasks) {
  const Placement placement = *place(plan_, {}, is_this_host);
  const std::string text = *preview(plan_, placement, {"/b/s", "/b/v", "train", "/b/l"},
                                    {{"STRETTO_JOB_TOKEN", "secret"}});
  EXPECT_EQ(text.find("secret"), std::string::npos);
  EXPECT_NE(text.find("[scheduler] env A=new "), std::string::npos) << text;
  EXPECT_NE(text.find(" /b/s --ready_fd 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("[server 1] "), std::string::npos) << text;
  EXPECT_NE(text.find(" train 'a b'\n"), std::string::npos) << text;
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST_F(LaunchEnvironment, RemoteSeatChangesBindHostAndLocalCounts) {
  rendezvous_.scheduler.host = "192.0.2.1";
  rendezvous_.master_host = "192.0.2.9";
  const Variables given =
      variables_for(plan_, {Role::kWorker, 2}, rendezvous_, {"0.0.0.0", 0, 1}, {});
  EXPECT_EQ(given.at("STRETTO_BIND_HOST"), "0.0.0.0");
  EXPECT_EQ(given.at("LOCAL_RANK"), "0");
  EXPECT_EQ(given.at("LOCAL_WORLD_SIZE"), "1");
  EXPECT_EQ(given.at("MASTER_ADDR"), "192.0.2.9");
  EXPECT_EQ(given.at("STRETTO_SCHEDULER"), "192.0.2.1:41234");
}

TEST_F(LaunchEnvironment, HostSpecificVariablesDoNotTravel) {
  EXPECT_EQ(portable({{"HOME", "/h"},
                      {"PATH", "/bin"},
                      {"SSH_AUTH_SOCK", "s"},
                      {"SLURM_JOB_ID", "1"},
                      {"OMPI_COMM_WORLD_RANK", "1"},
                      {"STRETTO_BIND_HOST", "10.0.0.1"},
                      {"STRETTO_LOG_LEVEL", "debug"},
                      {"HOMEWORK", "yes"}}),
            (Variables{{"PATH", "/bin"}, {"STRETTO_LOG_LEVEL", "debug"}, {"HOMEWORK", "yes"}}));
}

TEST(LaunchVariables, NotesIgnoredVariables) {
  Plan plan = plan_of({"x"});
  plan.workers = 2;
  EXPECT_EQ(overridden(plan, {{"STRETTO_WORLD_SIZE", "2"}, {"DMLC_NUM_SERVER", "1"}}).size(), 0u);
  const Variables outer{{"STRETTO_SCHEDULER", "192.0.2.9:9700"}, {"STRETTO_WORLD_SIZE", "4"}};
  const std::vector<std::string> notes = overridden(plan, outer);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("STRETTO_SCHEDULER is '192.0.2.9:9700', and is not used"),
            std::string::npos);
  EXPECT_EQ(notes[1],
            "STRETTO_WORLD_SIZE is '4', and is not used: 2 workers are started; --workers says how "
            "many");
  EXPECT_THAT(overridden(plan, {{"STRETTO_MIN_WORKERS", "5"}}),
              testing::ElementsAre("STRETTO_MIN_WORKERS is '5', and is not used: --workers MIN:MAX "
                                   "says with how many a job goes on"));
  plan.least_workers = 2;
  EXPECT_EQ(overridden(plan, {{"STRETTO_MIN_WORKERS", "2"}}).size(), 0u);
  Variables nested = outer;
  nested["STRETTO_ROLE"] = "worker";
  EXPECT_EQ(overridden(plan, nested).size(), 0u) << "it belongs to the outer job";
}

TEST(LaunchAllocation, NotesUnusedAllocationOnly) {
  EXPECT_EQ(allocation_note({{"SLURM_JOB_NUM_NODES", "1"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_NE(allocation_note({{"SLURM_JOB_NUM_NODES", "4"}}).find("4 nodes"), std::string::npos);
}

TEST(LaunchSystem, AProgramOfTheFolderWhereOneStandsIsOffered) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "launch_offers";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file("/bin/true", folder / "own-program",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::current_path(folder);
  EXPECT_EQ(find_program("own-program", "/bin").status().cause(),
            "cannot execute 'own-program': not found in PATH; is './own-program' meant?");
  std::ofstream("train.py") << "print()";
  EXPECT_EQ(find_program("train.py", "/bin").status().cause(),
            "cannot execute 'train.py': not found in PATH; did you mean python3 train.py?");
  EXPECT_EQ(find_program("./train.py", "/bin").status().cause(),
            "cannot execute './train.py': Permission denied; did you mean python3 ./train.py?");
  std::filesystem::permissions("train.py", std::filesystem::perms::owner_all);
  EXPECT_EQ(find_program("./train.py", "/bin").status().cause(),
            "cannot execute './train.py': its first line names no interpreter; did you mean "
            "python3 ./train.py?");
  EXPECT_EQ(find_program("train.py", "/bin").status().cause(),
            "cannot execute 'train.py': not found in PATH; did you mean python3 train.py?");
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(LaunchSystem, ProgramsAreFoundAsAShellFindsThem) {
  const Result<std::string> found = find_program("sh", "/nowhere:/bin");
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(*found, "/bin/sh");
  EXPECT_EQ(*find_program("/bin/sh", {}), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program", "/bin").status().cause(),
            "cannot execute 'no-such-program': not found in PATH");
  EXPECT_EQ(find_program("/no/such", "/bin").status().cause(),
            "cannot execute '/no/such': No such file or directory");
  EXPECT_EQ(find_program("/bin/", "/bin").status().cause(),
            "cannot execute '/bin/': Is a directory");
  EXPECT_EQ(find_program("/etc/passwd", {}).status().cause(),
            "cannot execute '/etc/passwd': Permission denied; /etc/passwd is no executable file: "
            "chmod +x "
            "makes it one, or name the program that runs it");
}

TEST(LaunchSystem, TokensAreRandomUnlessGiven) {
  const Result<std::string> one = job_token({});
  const Result<std::string> other = job_token({});
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(one->size(), 32u);
  EXPECT_NE(*one, *other);
  EXPECT_EQ(*job_token({{"STRETTO_JOB_TOKEN", "mine"}}), "mine");
}

TEST(LaunchSystem, TheNeedForDescriptorsIsSaid) {
  Plan plan;
  plan.workers = 100;
  EXPECT_TRUE(require_descriptors(plan, descriptors_needed(plan)).ok());
  const Status status = require_descriptors(plan, 64);
  EXPECT_EQ(status.code(), Code::kResource);
  EXPECT_NE(status.cause().find("the limit is 64"), std::string::npos);
}

}  // namespace
}  // namespace stretto::launch
