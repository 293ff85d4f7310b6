// SPDX-License-Identifier: Apache-2.0
// What a worker is told that joins a job which runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/launch/join/worker_join.h"

namespace stretto::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<KnownJob> kJobs = {{.name = {},
                                      .scheduler = "127.0.0.1:9000",
                                      .command = {},
                                      .workers = 3,
                                      .servers = 2,
                                      .token = "secret"}};

Result<Joining> joining(const std::vector<std::string>& words, const Variables& inherited = {}) {
  return joining_from(words, inherited, kJobs);
}

TEST(LaunchJoin, OnTheLaunchersHostTheTokenIsThatOfTheJobsFile) {
  const Result<Joining> here = joining({"127.0.0.1:9000", "--", "train", "--fast"});
  ASSERT_TRUE(here.ok()) << here.status().text();
  EXPECT_THAT(here->command, ElementsAre("train", "--fast"));
  EXPECT_EQ(here->given.at("STRETTO_JOB_TOKEN"), "secret");
  EXPECT_EQ(here->given.at("STRETTO_SCHEDULER"), "127.0.0.1:9000");
  EXPECT_EQ(here->given.at("STRETTO_RANK"), "-1");
  EXPECT_EQ(here->given.at("STRETTO_WORLD_SIZE"), "3");
}

TEST(LaunchJoin, ElsewhereItComesFromTheEnvironment) {
  const Result<Joining> far = joining({"node1:9000", "train"}, {{"STRETTO_JOB_TOKEN", "told"}});
  ASSERT_TRUE(far.ok()) << far.status().text();
  EXPECT_EQ(far->given.at("STRETTO_JOB_TOKEN"), "told");
  EXPECT_THAT(joining({"node1:9000", "train"}).status().cause(), HasSubstr("STRETTO_JOB_TOKEN"));
}

TEST(LaunchJoin, NamesInvalidArguments) {
  EXPECT_THAT(joining({"node1", "train"}).status().cause(), HasSubstr("'node1 train'"));
  EXPECT_FALSE(joining({}).ok());
  EXPECT_FALSE(joining({"127.0.0.1:9000", "--"}).ok());
}

}  // namespace
}  // namespace stretto::launch
