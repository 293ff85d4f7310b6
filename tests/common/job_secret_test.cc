// SPDX-License-Identifier: Apache-2.0
// What a job's secret must be, and what cannot be had where its links are encrypted.
#include "common/config/job_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

Config encrypted() {
  Config config;
  config.encrypts = true;
  config.token = "a secret of tests";
  return config;
}

TEST(JobSecret, HasSixteenBytesOrMore) {
  EXPECT_TRUE(check_secret("0123456789abcdef").ok());
  EXPECT_THAT(check_secret("0123456789abcde").cause(), HasSubstr("15 characters"));
  EXPECT_THAT(check_secret("").cause(), HasSubstr("there is none"));
}

TEST(JobSecret, HasFourKibibytesAtMost) {
  EXPECT_TRUE(check_token_length("").ok());
  EXPECT_TRUE(check_token_length(std::string(kMostTokenBytes, 'x')).ok());
  const Status status = check_token_length(std::string(kMostTokenBytes + 1, 'x'));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("has 4097 bytes, at most 4096 are taken"));
}

TEST(JobSecret, IsWantedForKeys) {
  EXPECT_TRUE(check_encryption(encrypted()).ok());
  EXPECT_TRUE(encrypted().links_by_zmq());
  Config config = encrypted();
  config.token.clear();
  const Status status = check_encryption(config);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.cause(), HasSubstr("STRETTO_ENCRYPT is 1"));
  EXPECT_THAT(status.cause(), HasSubstr("set STRETTO_JOB_TOKEN"));
  config.encrypts = false;
  EXPECT_TRUE(check_encryption(config).ok());
  config.token = "a secret of tests";
  EXPECT_FALSE(config.links_by_zmq());
  config.transport = TransportChoice::kZmq;
  EXPECT_TRUE(config.links_by_zmq());
}

TEST(JobSecret, RejectsUnencryptedTransportAndAddress) {
  Config config = encrypted();
  config.transport = TransportChoice::kFabric;
  EXPECT_THAT(check_encryption(config).cause(), HasSubstr("libfabric does not encrypt"));
  config.transport = TransportChoice::kTcp;
  EXPECT_THAT(check_encryption(config).cause(),
              HasSubstr("STRETTO_TRANSPORT is tcp: that transport does not encrypt; take zmq"));
  for (const TransportChoice choice :
       {TransportChoice::kAuto, TransportChoice::kZmq, TransportChoice::kShm}) {
    config.transport = choice;
    EXPECT_TRUE(check_encryption(config).ok());
  }
  config.page_address = "0.0.0.0:9300";
  EXPECT_THAT(check_encryption(config).cause(), HasSubstr("STRETTO_PAGE_ADDRESS is 0.0.0.0:9300"));
  config.page_address = "127.0.0.1:9300";
  EXPECT_TRUE(check_encryption(config).ok());
  config.metrics_address = "10.0.0.1:9100";
  EXPECT_THAT(check_encryption(config).cause(), HasSubstr("STRETTO_METRICS_ADDRESS"));
}

TEST(JobSecret, TheVariableIsReadAndChecked) {
  const auto read = [](const std::string& word) {
    return config_from(
        [word](const std::string& name) -> std::optional<std::string> {
          if (name == "STRETTO_ENCRYPT") return word;
          if (name == "STRETTO_JOB_TOKEN") return "a secret of tests";
          if (name == "STRETTO_SCHEDULER") return "127.0.0.1:9000";
          return std::nullopt;
        },
        Role::kServer);
  };
  EXPECT_TRUE(read("1")->encrypts);
  EXPECT_FALSE(read("0")->encrypts);
  EXPECT_THAT(read("yes").status().cause(), HasSubstr("0 or 1"));
}

TEST(JobSecret, AToolEncryptsOrNotAndNothingElse) {
  const auto told = [](std::optional<std::string> word) {
    return encrypts_told([word](const std::string&) { return word; });
  };
  EXPECT_FALSE(*told(std::nullopt));
  EXPECT_FALSE(*told("0"));
  EXPECT_TRUE(*told("1"));
  EXPECT_EQ(told("yes").status().cause(), "STRETTO_ENCRYPT is 'yes', wanted 0 or 1");
}

}  // namespace
}  // namespace stretto
