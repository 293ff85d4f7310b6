// SPDX-License-Identifier: Apache-2.0
// When a job is encrypted, and which ways to other hosts it then has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/encryption.h"

namespace stretto::launch {
namespace {

using testing::HasSubstr;

Plan encrypted() {
  Plan plan;
  plan.encrypt = true;
  return plan;
}

TEST(LaunchEncryption, IsAskedForByFlagOrVariable) {
  EXPECT_FALSE(is_to_be_encrypted({}, {}));
  EXPECT_TRUE(is_to_be_encrypted(encrypted(), {}));
  EXPECT_TRUE(is_to_be_encrypted({}, {{"STRETTO_ENCRYPT", "1"}}));
  EXPECT_FALSE(is_to_be_encrypted({}, {{"STRETTO_ENCRYPT", "0"}}));
  Plan plan;
  plan.added_environment = {{"STRETTO_ENCRYPT", "1"}};
  EXPECT_TRUE(is_to_be_encrypted(plan, {}));
  const std::vector<std::string> words = {"--encrypt", "--", "train"};
  EXPECT_TRUE(parse_arguments(words, nullptr)->encrypt);
}

TEST(LaunchEncryption, ProcessesAreTold) {
  const Rendezvous rendezvous{{"127.0.0.1", 9000}, "token", {}};
  const auto given = [&](const Plan& plan) {
    return variables_for(plan, {Role::kWorker, 0}, rendezvous, {}, {});
  };
  EXPECT_EQ(given(encrypted()).at("STRETTO_ENCRYPT"), "1");
  EXPECT_FALSE(given({}).contains("STRETTO_ENCRYPT"));
}

TEST(LaunchEncryption, OnlySshCarriesItsSecretToOtherHosts) {
  EXPECT_TRUE(check_encryption(encrypted(), Via::kSsh, false, {}).ok());
  EXPECT_TRUE(check_encryption(encrypted(), Via::kLocal, true, {}).ok());
  EXPECT_TRUE(check_encryption(encrypted(), Via::kMpi, true, {}).ok());
  EXPECT_THAT(check_encryption(encrypted(), Via::kMpi, false, {}).cause(),
              HasSubstr("--via mpi would tell its secret"));
  EXPECT_THAT(check_encryption(encrypted(), Via::kSlurm, true, {}).cause(),
              HasSubstr("take --via ssh"));
  EXPECT_TRUE(check_encryption({}, Via::kSlurm, false, {}).ok());
}

TEST(LaunchEncryption, RejectsSettingsConflictingWithEncryption) {
  const auto cause = [](const Variables& inherited) {
    return std::string(check_encryption(encrypted(), Via::kLocal, true, inherited).cause());
  };
  EXPECT_THAT(cause({{"STRETTO_TRANSPORT", "fabric"}}), HasSubstr("libfabric does not encrypt"));
  EXPECT_THAT(cause({{"STRETTO_JOB_TOKEN", "short"}}), HasSubstr("16 are the least"));
  EXPECT_THAT(cause({{"STRETTO_PAGE_ADDRESS", "0.0.0.0:1"}}), HasSubstr("STRETTO_PAGE_ADDRESS"));
  EXPECT_THAT(cause({{"STRETTO_ENCRYPT", "0"}}), HasSubstr("leave out one"));
  EXPECT_THAT(cause({{"STRETTO_TRANSPORT", "tcp"}}), HasSubstr("take zmq, or auto"));
  EXPECT_EQ(cause({{"STRETTO_TRANSPORT", "zmq"}}), "");
}

TEST(LaunchEncryption, NodesNeedTokenThatIsHardToGuess) {
  EXPECT_THAT(check_token_of_nodes("").cause(), HasSubstr("export the same STRETTO_JOB_TOKEN"));
  EXPECT_THAT(check_token_of_nodes("x").cause(),
              HasSubstr("has 1 characters, and 16 are the least"));
  EXPECT_FALSE(check_token_of_nodes(std::string(5000, 'x')).ok());
  EXPECT_TRUE(check_token_of_nodes(std::string(32, 'x')).ok());
}

}  // namespace
}  // namespace stretto::launch
