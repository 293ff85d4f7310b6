// SPDX-License-Identifier: Apache-2.0
// The first and the last thing that a program does: flags over environment, and the exit status.
#include "common/config/program.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/log.h"

namespace stretto {
namespace {

class ProgramTest : public testing::Test {
 protected:
  ~ProgramTest() override {
    unsetenv("STRETTO_SERVERS");
    set_log_level(Level::kInfo);
    set_log_identity({});
  }
};

TEST_F(ProgramTest, FlagsWinOverTheEnvironment) {
  ASSERT_EQ(setenv("STRETTO_SERVERS", "3", 1), 0);
  EXPECT_EQ(program_config(Role::kServer, {})->servers, 3U);
  EXPECT_EQ(program_config(Role::kServer, {{"STRETTO_SERVERS", "4"}})->servers, 4U);
}

TEST_F(ProgramTest, SetsTheLogUp) {
  const Result<Config> config = program_config(
      Role::kServer,
      {{"STRETTO_LOG_LEVEL", "silent"}, {"STRETTO_SERVERS", "2"}, {"STRETTO_RANK", "1"}});
  ASSERT_TRUE(config.ok()) << config.status().text();
  EXPECT_FALSE(log_enabled(Level::kError));
  EXPECT_EQ(log_identity().role, "server");
  EXPECT_EQ(log_identity().rank, 1);
}

TEST_F(ProgramTest, AnErrorKnowsItsRoleBeforeTheConfigIsRead) {
  EXPECT_FALSE(program_config(Role::kScheduler, {{"STRETTO_SERVERS", "x"}}).ok());
  EXPECT_EQ(log_identity().role, "scheduler");
}

TEST_F(ProgramTest, TheExitStatusIsZeroOnlyIfAllWentWell) {
  set_log_identity({"server", 1});
  testing::internal::CaptureStderr();
  EXPECT_EQ(exit_status({}), 0);
  EXPECT_EQ(exit_status({Code::kPeerLost, "worker 0 is lost"}), kExitOfLoss);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ERROR PeerLost role=server rank=1 peer=- op=- cause=worker 0 is lost\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(exit_status({Code::kResource, "no memory"}), 1);
  testing::internal::GetCapturedStderr();
}

TEST(ArgumentsLine, SentenceComesFirst) {
  EXPECT_EQ(arguments_line({Code::kInvalidArgument, "unknown flag --x"}, "launcher"),
            "ERROR InvalidArgument: unknown flag --x (role=launcher rank=- peer=- op=arguments)");
}

}  // namespace
}  // namespace stretto
