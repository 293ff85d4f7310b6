// SPDX-License-Identifier: Apache-2.0
// Every variable, which name wins, what is refused and in which words.
#include "common/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace stretto {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Environment nothing() {
  return [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
}

Result<Config> read(const Variables& variables, Role role = Role::kWorker) {
  return config_from(overlay(variables, nothing()), role);
}

Config must_read(const Variables& variables, Role role = Role::kWorker) {
  const Result<Config> config = read(variables, role);
  EXPECT_TRUE(config.ok()) << config.status().text();
  return config.ok() ? *config : Config();
}

// ---- what is read

TEST(Config, WithoutAnyVariableTheDefaultsHold) {
  const Config config = must_read({});
  EXPECT_EQ(config.role, Role::kWorker);
  EXPECT_EQ(config.rank, -1);
  EXPECT_EQ(config.workers, 1U);
  EXPECT_EQ(config.servers, 1U);
  EXPECT_EQ(config.shards, 1U);
  EXPECT_EQ(config.scheduler, "");
  EXPECT_EQ(config.bind_host, "127.0.0.1");
  EXPECT_EQ(config.memory_limit_bytes, 0U);
  EXPECT_EQ(config.log_level, "info");
  EXPECT_EQ(config.metrics_file, "");
  EXPECT_EQ(config.transport, TransportChoice::kAuto);
  EXPECT_EQ(config.host_policy, HostPolicy::kUrgent);
  EXPECT_EQ(config.look_ahead, 50us);
  EXPECT_EQ(config.checksums, automatic_checksums());
  EXPECT_EQ(config.job.part_bytes % 64, 0U);
}

TEST(Config, ReadsEveryVariable) {
  const Config config = must_read({{"STRETTO_WORLD_SIZE", "8"},
                                   {"STRETTO_SERVERS", "3"},
                                   {"STRETTO_SHARDS", "4"},
                                   {"STRETTO_RANK", "5"},
                                   {"STRETTO_SCHEDULER", "10.0.0.1:9000"},
                                   {"STRETTO_BIND_HOST", "10.0.0.2"},
                                   {"STRETTO_NODE_HOST", "10.0.0.3"},
                                   {"STRETTO_JOB_TOKEN", "a secret of tests"},
                                   {"STRETTO_METRICS_FILE", "/run/stretto.prom"},
                                   {"STRETTO_LOG_LEVEL", "debug"},
                                   {"STRETTO_TRANSPORT", "shm"},
                                   {"STRETTO_HAND_OVER", "frames"},
                                   {"STRETTO_HOST_WINDOW", "fair"},
                                   {"STRETTO_SPIN_US", "200"},
                                   {"STRETTO_CHECKSUMS", "all"},
                                   {"STRETTO_INPUT_BALANCE", "off"},
                                   {"STRETTO_RENDEZVOUS_TIMEOUT_S", "1.5"},
                                   {"STRETTO_OPERATION_TIMEOUT_S", "2"},
                                   {"STRETTO_MEMORY_LIMIT_MIB", "3"},
                                   {"STRETTO_PART_BYTES", "65536"},
                                   {"STRETTO_LINK_WINDOW_BYTES", "1000"},
                                   {"STRETTO_TOTAL_WINDOW_BYTES", "2000"},
                                   {"STRETTO_HEARTBEAT_S", "0.25"},
                                   {"STRETTO_DEAD_AFTER_S", "0.75"},
                                   {"STRETTO_STALL_ERROR_S", "5e1"}});
  EXPECT_EQ(config.workers, 8U);
  EXPECT_EQ(config.servers, 3U);
  EXPECT_EQ(config.host_policy, HostPolicy::kFair);
  EXPECT_EQ(config.checksums, Checksums::kAll);
  EXPECT_EQ(config.shards, 4U);
  EXPECT_EQ(config.rank, 5);
  EXPECT_EQ(config.scheduler, "10.0.0.1:9000");
  EXPECT_EQ(config.bind_host, "10.0.0.2");
  EXPECT_EQ(config.node_host, "10.0.0.3");
  EXPECT_EQ(config.token, "a secret of tests");
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.metrics_file, "/run/stretto.prom");
  EXPECT_EQ(config.transport, TransportChoice::kShm);
  EXPECT_TRUE(config.whole_frames);
  EXPECT_EQ(config.look_ahead, 200us);
  EXPECT_FALSE(config.balance_input);
  EXPECT_EQ(config.rendezvous_timeout, 1500ms);
  EXPECT_EQ(config.operation_timeout, 2s);
  EXPECT_EQ(config.memory_limit_bytes, 3U << 20);
  EXPECT_EQ(config.job.part_bytes, 65536U);
  EXPECT_EQ(config.job.link_window_bytes, 1000U);
  EXPECT_EQ(config.job.total_window_bytes, 2000U);
  EXPECT_EQ(config.job.heartbeat, 250ms);
  EXPECT_EQ(config.job.dead_after, 750ms);
  EXPECT_EQ(config.job.stall_error, 50s);
}

TEST(Config, ReadsResumeSourceAndCheckpointInterval) {
  const CheckpointSettings usual = must_read({}).checkpoint;
  EXPECT_TRUE(usual.resumes);
  EXPECT_EQ(usual.source, "");
  EXPECT_EQ(usual.every, 60s);
  EXPECT_FALSE(usual.chooses_every);
  EXPECT_EQ(usual.failures.prior, 4h);
  EXPECT_FALSE(must_read({{"STRETTO_RESUME", "no"}}).checkpoint.resumes);
  const CheckpointSettings told = must_read({{"STRETTO_RESUME", "old/ckpt-3"},
                                             {"STRETTO_CHECKPOINT_EVERY_S", "auto"},
                                             {"STRETTO_MTBF_S", "100"},
                                             {"STRETTO_FAILURES", "2"},
                                             {"STRETTO_CHECKPOINT_MADE", "17"},
                                             {"STRETTO_RAN_S", "50"}})
                                      .checkpoint;
  EXPECT_TRUE(told.resumes);
  EXPECT_EQ(told.source, "old/ckpt-3");
  EXPECT_TRUE(told.chooses_every);
  EXPECT_EQ(told.every, 60s) << "the first";
  EXPECT_EQ(told.failures.prior, 100s);
  EXPECT_EQ(told.failures.failures, 2U);
  EXPECT_EQ(told.failures.ran, 50s);
  EXPECT_EQ(told.made, 17U);
}

TEST(Config, LookingAgainIsAutomaticOrBoundedOrLeftOut) {
  EXPECT_EQ(must_read({{"STRETTO_SPIN_US", "auto"}}).look_ahead, must_read({}).look_ahead);
  EXPECT_EQ(must_read({{"STRETTO_SPIN_US", "0"}}).look_ahead, Duration::zero());
  EXPECT_EQ(must_read({{"STRETTO_SPIN_US", "1000"}}).look_ahead, 1ms);
}

TEST(Config, ReadsTheNamesOfPsLiteAndBytePs) {
  const Variables variables{{"DMLC_NUM_WORKER", "4"},          {"DMLC_NUM_SERVER", "2"},
                            {"DMLC_PS_ROOT_URI", "127.0.0.1"}, {"DMLC_PS_ROOT_PORT", "9000"},
                            {"DMLC_NODE_HOST", "10.0.0.3"},    {"DMLC_WORKER_ID", "3"}};
  const Config config = must_read(variables);
  EXPECT_EQ(config.workers, 4U);
  EXPECT_EQ(config.servers, 2U);
  EXPECT_EQ(config.scheduler, "127.0.0.1:9000");
  EXPECT_EQ(config.node_host, "10.0.0.3");
  EXPECT_EQ(config.rank, 3);
  EXPECT_EQ(must_read(variables, Role::kServer).rank, -1) << "that is a worker's number";
}

TEST(Config, AWorkerOfBytePsIsOneGpuOfOneHost) {
  const Config config = must_read({{"DMLC_NUM_WORKER", "3"},
                                   {"BYTEPS_LOCAL_SIZE", "8"},
                                   {"DMLC_WORKER_ID", "2"},
                                   {"BYTEPS_LOCAL_RANK", "5"}});
  EXPECT_EQ(config.workers, 24U);
  EXPECT_EQ(config.rank, 21);
}

TEST(Config, ASchedulerOfBytePsMayBeToldOfHostsOnly) {
  for (const Role role : {Role::kScheduler, Role::kServer}) {
    const Config config = must_read({{"DMLC_NUM_WORKER", "3"}}, role);
    EXPECT_TRUE(config.workers_are_hosts);
    EXPECT_EQ(config.workers, 3U);
    EXPECT_GE(config.most_workers(), 24U);
  }
  EXPECT_FALSE(must_read({{"DMLC_NUM_WORKER", "3"}}).workers_are_hosts) << "a worker is one";
  EXPECT_FALSE(must_read({}, Role::kScheduler).workers_are_hosts);
  const Config told =
      must_read({{"DMLC_NUM_WORKER", "3"}, {"BYTEPS_LOCAL_SIZE", "1"}}, Role::kScheduler);
  EXPECT_FALSE(told.workers_are_hosts);
  EXPECT_EQ(told.most_workers(), 3U);
}

TEST(Config, OurNamesWinOverTheirs) {
  const Config config = must_read({{"STRETTO_WORLD_SIZE", "5"},
                                   {"DMLC_NUM_WORKER", "3"},
                                   {"BYTEPS_LOCAL_SIZE", "8"},
                                   {"STRETTO_SERVERS", "6"},
                                   {"DMLC_NUM_SERVER", "2"},
                                   {"STRETTO_SCHEDULER", "127.0.0.1:1"},
                                   {"DMLC_PS_ROOT_URI", "far.example"},
                                   {"DMLC_PS_ROOT_PORT", "2"},
                                   {"STRETTO_NODE_HOST", "a"},
                                   {"DMLC_NODE_HOST", "b"},
                                   {"STRETTO_RANK", "4"},
                                   {"BYTEPS_GLOBAL_RANK", "1"},
                                   {"DMLC_WORKER_ID", "2"}});
  EXPECT_EQ(config.workers, 5U) << "and is not multiplied";
  EXPECT_EQ(config.servers, 6U);
  EXPECT_EQ(config.scheduler, "127.0.0.1:1");
  EXPECT_EQ(config.bind_host, "127.0.0.1");
  EXPECT_EQ(config.node_host, "a");
  EXPECT_EQ(config.rank, 4);
}

TEST(Config, TheGlobalRankWinsOverHostAndLocalRank) {
  EXPECT_EQ(
      must_read({{"STRETTO_WORLD_SIZE", "9"}, {"BYTEPS_GLOBAL_RANK", "7"}, {"DMLC_WORKER_ID", "1"}})
          .rank,
      7);
}

TEST(Config, HalfAnAddressIsNone) {
  EXPECT_EQ(must_read({{"DMLC_PS_ROOT_URI", "127.0.0.1"}}).scheduler, "");
  EXPECT_EQ(must_read({{"DMLC_PS_ROOT_PORT", "9000"}}).scheduler, "");
}

TEST(Config, ARootOnAnotherHostMeansAJobOverHosts) {
  const Variables variables{{"DMLC_PS_ROOT_URI", "10.0.0.1"},
                            {"DMLC_PS_ROOT_PORT", "9000"},
                            {"STRETTO_JOB_TOKEN", "a secret of tests"}};
  EXPECT_EQ(must_read(variables, Role::kScheduler).bind_host, "10.0.0.1");
  EXPECT_EQ(must_read(variables, Role::kServer).bind_host, "0.0.0.0");
}

TEST(Config, SchedulerBindsAddressThatNamesIt) {
  Variables variables{{"STRETTO_SCHEDULER", "10.0.0.1:9000"},
                      {"STRETTO_JOB_TOKEN", "a secret of tests"}};
  EXPECT_EQ(must_read(variables, Role::kScheduler).bind_host, "10.0.0.1");
  EXPECT_EQ(must_read(variables, Role::kServer).bind_host, "127.0.0.1");
  variables["STRETTO_BIND_HOST"] = "0.0.0.0";
  EXPECT_EQ(must_read(variables, Role::kScheduler).bind_host, "0.0.0.0");
}

TEST(Config, OverlaysWinAndTheRestShowsThrough) {
  const Environment base = overlay({{"A", "1"}, {"B", "2"}}, nothing());
  const Environment both = overlay({{"B", "3"}}, base);
  EXPECT_EQ(both("A"), "1");
  EXPECT_EQ(both("B"), "3");
  EXPECT_EQ(both("C"), std::nullopt);
}

// ---- what is refused

TEST(Config, EncryptedJobHasChecksums) {
  const Variables encrypted = {{"STRETTO_CHECKSUMS", "off"},
                               {"STRETTO_ENCRYPT", "1"},
                               {"STRETTO_JOB_TOKEN", "a token of sixteen characters or more"}};
  EXPECT_EQ(must_read(encrypted).checksums, Checksums::kBetweenHosts);
  EXPECT_EQ(must_read({{"STRETTO_CHECKSUMS", "off"}}).checksums, Checksums::kNone);
}

struct Bad {
  const char* variable;
  const char* value;
  const char* wanted;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.variable << "=" << bad.value; }

class BadValues : public testing::TestWithParam<Bad> {};

TEST_P(BadValues, ErrorNamesVariableValueAndExpectation) {
  const Status status = read({{GetParam().variable, GetParam().value}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), AllOf(HasSubstr(GetParam().variable),
                                    HasSubstr("'" + std::string(GetParam().value) + "'"),
                                    HasSubstr(GetParam().wanted)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadValues,
    testing::Values(Bad{"STRETTO_TRANSPORT", "udp", "auto, tcp, zmq, shm or fabric"},
                    Bad{"STRETTO_HAND_OVER", "parts", "slices or frames"},
                    Bad{"STRETTO_LOG_LEVEL", "verbose", "debug, info, warning, error or silent"},
                    Bad{"STRETTO_HOST_WINDOW", "mine", "none, fair or urgent"},
                    Bad{"STRETTO_CHECKSUMS", "crc", "auto, off, hosts or all"},
                    Bad{"STRETTO_INPUT_BALANCE", "1", "on or off"},
                    Bad{"STRETTO_SPIN_US", "1001", "auto or a whole number from 0 to 1000"},
                    Bad{"STRETTO_SPIN_US", "-1", "auto or a whole number from 0 to 1000"},
                    Bad{"STRETTO_SPIN_US", "on", "auto or a whole number from 0 to 1000"},
                    Bad{"STRETTO_WORLD_SIZE", "0", "a whole number from 1 to"},
                    Bad{"STRETTO_WORLD_SIZE", "32769", "a whole number from 1 to"},
                    Bad{"STRETTO_WORLD_SIZE", "two", "a whole number"},
                    Bad{"STRETTO_WORLD_SIZE", "2 ", "a whole number"},
                    Bad{"STRETTO_WORLD_SIZE", " 2", "a whole number"},
                    Bad{"STRETTO_WORLD_SIZE", "2.5", "a whole number"},
                    Bad{"STRETTO_WORLD_SIZE", "99999999999999999999", "a whole number"},
                    Bad{"DMLC_NUM_WORKER", "-1", "a whole number from 1 to"},
                    Bad{"BYTEPS_LOCAL_SIZE", "0", "from 1 to 1024"},
                    Bad{"STRETTO_SERVERS", "-1", "a whole number from 0 to"},
                    Bad{"DMLC_NUM_SERVER", "x", "a whole number from 0 to"},
                    Bad{"STRETTO_SHARDS", "1025", "from 1 to 1024"},
                    Bad{"STRETTO_RANK", "-2", "from -1 to 32767"},
                    Bad{"BYTEPS_GLOBAL_RANK", "one", "from -1 to 32767"},
                    Bad{"DMLC_WORKER_ID", "-1", "from 0 to 32767"},
                    Bad{"STRETTO_MEMORY_LIMIT_MIB", "-1", "a whole number"},
                    Bad{"STRETTO_PART_BYTES", "63", "from 64 to 16777216"},
                    Bad{"STRETTO_PART_BYTES", "16777280", "from 64 to 16777216"},
                    Bad{"STRETTO_PART_BYTES", "100", "a multiple of 64"},
                    Bad{"STRETTO_LINK_WINDOW_BYTES", "0", "from 1"},
                    Bad{"STRETTO_TOTAL_WINDOW_BYTES", "0", "from 1"},
                    Bad{"STRETTO_RENDEZVOUS_TIMEOUT_S", "0", "seconds from 0.001 to 86400"},
                    Bad{"STRETTO_OPERATION_TIMEOUT_S", "86401", "seconds from 0.001"},
                    Bad{"STRETTO_HEARTBEAT_S", "nan", "seconds from 0.001"},
                    Bad{"STRETTO_DEAD_AFTER_S", "inf", "seconds from 0.001"},
                    Bad{"STRETTO_STALL_WARN_S", "30", "unset it, or set STRETTO_STALL_ERROR_S"},
                    Bad{"STRETTO_STALL_ERROR_S", "-1", "seconds from 0.001"}));

TEST(Config, TheFirstErrorIsTheOneThatIsTold) {
  EXPECT_THAT(read({{"STRETTO_SERVERS", "x"}, {"STRETTO_SHARDS", "y"}}).status().cause(),
              HasSubstr("STRETTO_SERVERS"));
}

TEST(Config, AWorldIsAtMostAsLargeAsARosterCanBe) {
  const Config config = must_read({{"STRETTO_WORLD_SIZE", std::to_string(kMaxNodes - 1)}});
  EXPECT_EQ(config.workers, kMaxNodes - 1) << "and one server";
  EXPECT_FALSE(read({{"STRETTO_WORLD_SIZE", std::to_string(kMaxNodes)}}).ok());
  EXPECT_FALSE(read({{"STRETTO_WORLD_SIZE", std::to_string(kMaxNodes + 1)}}).ok());
  const Status status =
      read({{"DMLC_NUM_WORKER", std::to_string(kMaxNodes)}, {"BYTEPS_LOCAL_SIZE", "8"}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), AllOf(HasSubstr("DMLC_NUM_WORKER x BYTEPS_LOCAL_SIZE"),
                                    HasSubstr(std::to_string(8 * kMaxNodes))));
}

TEST(Config, PatienceShorterThanTwoHeartbeatsIsRefused) {
  const Variables variables{{"STRETTO_HEARTBEAT_S", "1"}, {"STRETTO_DEAD_AFTER_S", "1.9"}};
  EXPECT_THAT(read(variables).status().cause(), HasSubstr("STRETTO_DEAD_AFTER_S"));
  EXPECT_TRUE(read({{"STRETTO_HEARTBEAT_S", "1"}, {"STRETTO_DEAD_AFTER_S", "2"}}).ok());
}

TEST(Config, OtherHostsNeedAToken) {
  const Status status = read({{"STRETTO_BIND_HOST", "0.0.0.0"}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), AllOf(HasSubstr("0.0.0.0"), HasSubstr("STRETTO_JOB_TOKEN")));
  EXPECT_TRUE(
      read({{"STRETTO_BIND_HOST", "0.0.0.0"}, {"STRETTO_JOB_TOKEN", "0123456789abcdef"}}).ok());
  EXPECT_THAT(read({{"STRETTO_BIND_HOST", "0.0.0.0"}, {"STRETTO_JOB_TOKEN", "x"}}).status().cause(),
              AllOf(HasSubstr("this one has 1 characters"), HasSubstr("16 are the least")));
  EXPECT_TRUE(read({{"STRETTO_BIND_HOST", "localhost"}}).ok());
  EXPECT_FALSE(read({{"DMLC_PS_ROOT_URI", "10.0.0.1"}, {"DMLC_PS_ROOT_PORT", "1"}}).ok());
}

TEST(Config, ARankIsWithinItsOwnWorld) {
  EXPECT_THAT(read({{"STRETTO_WORLD_SIZE", "4"}, {"STRETTO_RANK", "4"}}).status().cause(),
              HasSubstr("rank 4 in a job of 4 workers"));
  const Variables variables{{"STRETTO_WORLD_SIZE", "4"}, {"STRETTO_RANK", "3"}};
  EXPECT_TRUE(read(variables).ok());
  EXPECT_THAT(read(variables, Role::kServer).status().cause(),
              HasSubstr("rank 3 in a job of 1 servers"));
}

TEST(Config, AJobMayHaveNoServersUnlessItWantsSome) {
  for (const char* name : {"STRETTO_SERVERS", "DMLC_NUM_SERVER"}) {
    EXPECT_EQ(must_read({{name, "0"}}).servers, 0U);
    EXPECT_TRUE(read({{name, "0"}}, Role::kScheduler).ok());
    EXPECT_THAT(read({{name, "0"}}, Role::kServer).status().cause(),
                HasSubstr("this is a server, and the job is to have none"));
  }
  const Variables elastic{{"STRETTO_SERVERS", "0"}, {"STRETTO_MIN_WORKERS", "1"}};
  EXPECT_THAT(read(elastic).status().cause(),
              HasSubstr("STRETTO_MIN_WORKERS is 1, and STRETTO_SERVERS is 0"));
  const Variables largest{{"STRETTO_SERVERS", "0"},
                          {"STRETTO_WORLD_SIZE", std::to_string(kMaxNodes)}};
  EXPECT_TRUE(read(largest).ok());
}

TEST(Config, AWorkerHasRoomForTheLinksOfAllOthers) {
  EXPECT_EQ(must_read({{"STRETTO_WORKER_LINKS", "4"}}).job.worker_links, 4U);
  EXPECT_TRUE(read({{"STRETTO_WORKER_LINKS", "16"}, {"STRETTO_WORLD_SIZE", "64"}}).ok());
  EXPECT_THAT(read({{"STRETTO_WORKER_LINKS", "16"}, {"STRETTO_WORLD_SIZE", "65"}}).status().cause(),
              HasSubstr("STRETTO_WORKER_LINKS is 16 in a job of 65 workers"));
  EXPECT_THAT(read({{"STRETTO_WORKER_LINKS", "17"}}).status().cause(), HasSubstr("1 to 16"));
}

TEST(Config, TheSchedulersAddressIsChecked) {
  EXPECT_THAT(read({{"STRETTO_SCHEDULER", "nowhere"}}).status().cause(), HasSubstr("'nowhere'"));
}

TEST(Config, Ipv6SchedulerMakesMembersBindIpv6) {
  EXPECT_EQ(must_read({{"STRETTO_SCHEDULER", "[::1]:9000"}}, Role::kServer).bind_host, "::1");
  const std::map<std::string, std::string> root = {{"DMLC_PS_ROOT_URI", "fd00::1"},
                                                   {"DMLC_PS_ROOT_PORT", "9000"},
                                                   {"STRETTO_JOB_TOKEN", "0123456789abcdef"}};
  const Config server = must_read(root, Role::kServer);
  EXPECT_EQ(server.scheduler, "[fd00::1]:9000");
  EXPECT_EQ(server.bind_host, "::");
  EXPECT_EQ(must_read(root, Role::kScheduler).bind_host, "fd00::1");
}

TEST(Config, HostsToBindMayHaveBrackets) {
  const Config config = must_read({{"STRETTO_BIND_HOST", "[::1]"}, {"STRETTO_NODE_HOST", "[::1]"}});
  EXPECT_EQ(config.bind_host, "::1");
  EXPECT_EQ(config.node_host, "::1");
}

TEST(Role, HasAName) {
  EXPECT_EQ(name_of(Role::kScheduler), "scheduler");
  EXPECT_EQ(name_of(Role::kServer), "server");
  EXPECT_EQ(name_of(Role::kWorker), "worker");
}

}  // namespace
}  // namespace stretto
