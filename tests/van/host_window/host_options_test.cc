// SPDX-License-Identifier: Apache-2.0
// Which processes find one another: those of one job know its secret, or its scheduler.
#include "van/host_window/host_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto::host {
namespace {

Config job() {
  Config config;
  config.host_policy = HostPolicy::kUrgent;
  config.scheduler = "192.0.2.1:9000";
  return config;
}

TEST(HostOptions, OfOneJobAreTheSame) {
  const HostOptions options = host_options(job());
  EXPECT_EQ(options.policy, HostPolicy::kUrgent);
  EXPECT_NE(options.job, 0U);
  EXPECT_THAT(options.path, testing::StartsWith("/dev/shm/stretto-host-"));
  EXPECT_EQ(host_options(job()).job, options.job);
  EXPECT_EQ(host_options(job()).path, options.path);
}

TEST(HostOptions, TellJobsApart) {
  Config other = job();
  other.scheduler = "192.0.2.1:9001";
  EXPECT_NE(host_options(other).job, host_options(job()).job);
  Config secret = job();
  secret.token = "a secret of sixteen";
  Config same = other;
  same.token = secret.token;
  EXPECT_NE(host_options(secret).job, host_options(job()).job);
  EXPECT_EQ(host_options(secret).job, host_options(same).job);
}

TEST(HostOptions, AreNoneWhereNothingLeavesTheHost) {
  Config config = job();
  config.scheduler = "127.0.0.1:9000";
  EXPECT_EQ(host_options(config).policy, HostPolicy::kNone);
  config = job();
  config.transport = TransportChoice::kShm;
  EXPECT_EQ(host_options(config).policy, HostPolicy::kNone);
  config = job();
  config.host_policy = HostPolicy::kNone;
  EXPECT_EQ(host_options(config).policy, HostPolicy::kNone);
  EXPECT_EQ(host_options({}).policy, HostPolicy::kNone);
}

}  // namespace
}  // namespace stretto::host
