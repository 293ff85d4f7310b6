// SPDX-License-Identifier: Apache-2.0
// What a scheduler tells a server that joins is what that server's own Config has then.
#include "common/config/job_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

Environment only(std::map<std::string, std::string> variables) {
  return overlay(std::move(variables), [](const std::string&) { return std::nullopt; });
}

TEST(ToldVariables, ThereAndBackTheyAreTheSameSettings) {
  const std::map<std::string, std::string> given{{"STRETTO_SERVERS", "3"},
                                                 {"STRETTO_SHARDS", "2"},
                                                 {"STRETTO_WORLD_SIZE", "4"},
                                                 {"STRETTO_MIN_WORKERS", "2"},
                                                 {"STRETTO_SERVER_RESTARTS", "5"},
                                                 {"STRETTO_PART_BYTES", "65536"},
                                                 {"STRETTO_HEARTBEAT_S", "0.25"},
                                                 {"STRETTO_DEAD_AFTER_S", "2.5"},
                                                 {"STRETTO_CHECKPOINT", "run/with spaces = x"},
                                                 {"STRETTO_RESUME", "run/other"},
                                                 {"STRETTO_TRANSPORT", "tcp"},
                                                 {"STRETTO_DRAIN_S", "7"},
                                                 {"STRETTO_CHECKSUMS", "all"},
                                                 {"STRETTO_MEMORY_LIMIT_MIB", "512"},
                                                 {"STRETTO_JOB_TOKEN", "a secret that is long"}};
  const Result<Config> job = config_from(only(given), Role::kScheduler);
  ASSERT_TRUE(job.ok()) << job.status().text();
  const std::string lines = lines_of(told_variables(*job, job->workers));
  EXPECT_THAT(lines, testing::Not(HasSubstr("secret")));
  const auto told = variables_in(lines);
  ASSERT_TRUE(told.ok()) << told.status().text();
  const Result<Config> server = config_from(only(*told), Role::kServer);
  ASSERT_TRUE(server.ok()) << server.status().text();
  EXPECT_EQ(server->workers, 4U);
  EXPECT_EQ(server->servers, 3U);
  EXPECT_EQ(server->shards, 2U);
  EXPECT_EQ(server->job.min_workers, 2U);
  EXPECT_EQ(server->job.server_restarts, 5U);
  EXPECT_EQ(server->job.part_bytes, 65536U);
  EXPECT_EQ(server->job.heartbeat, job->job.heartbeat);
  EXPECT_EQ(server->job.dead_after, job->job.dead_after);
  EXPECT_EQ(server->checkpoint.folder, "run/with spaces = x");
  EXPECT_EQ(server->checkpoint.source, "run/other");
  EXPECT_EQ(server->transport, TransportChoice::kTcp);
  EXPECT_EQ(server->drain, job->drain);
  EXPECT_EQ(server->checksums, Checksums::kAll);
  EXPECT_EQ(server->memory_limit_bytes, job->memory_limit_bytes);
  EXPECT_EQ(server->server_numbers(), 12U);
}

TEST(ToldVariables, ChecksumsAreThoseOfTheJob) {
  for (const Checksums checksums : {Checksums::kAll, Checksums::kBetweenHosts, Checksums::kNone}) {
    Config job;
    job.checksums = checksums;
    const auto told = told_variables(job, 1);
    const Result<Config> server = config_from(only(told), Role::kServer);
    ASSERT_TRUE(server.ok()) << server.status().text();
    EXPECT_EQ(server->checksums, checksums) << told.at("STRETTO_CHECKSUMS");
  }
}

TEST(ToldVariables, OtherNamesAreNotTaken) {
  for (const char* lines :
       {"LD_PRELOAD=/tmp/x\n", "STRETTO_SERVERS=2", "STRETTO_SERVERS\n", "STRETTO_SERVERS=\n",
        "STRETTO_SERVERS=2\x1b\n", "\n", "STRETTO_JOB_TOKEN=x\n", "STRETTO_SCHEDULER=x:1\n"}) {
    EXPECT_EQ(variables_in(lines).status().code(), Code::kMalformed) << lines;
  }
  EXPECT_TRUE(variables_in("").ok());
}

TEST(ToldVariables, SomeMayDifferFromHostToHost) {
  EXPECT_THAT(variables_of_all(), testing::Contains("STRETTO_SHARDS"));
  EXPECT_THAT(variables_of_all(), testing::Not(testing::Contains("STRETTO_TRANSPORT")));
}

}  // namespace
}  // namespace stretto
