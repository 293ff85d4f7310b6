// SPDX-License-Identifier: Apache-2.0
// Variables for programs that also start torch.distributed.
#include <gtest/gtest.h>

#include "tools/launch/plan/environment.h"

namespace stretto::launch {
namespace {

class LaunchWorkerVariables : public testing::Test {
 protected:
  LaunchWorkerVariables() {
    plan_.workers = 3;
    plan_.servers = 2;
    plan_.shards = 4;
  }
  Variables given(const Variables& inherited) const {
    return variables_for(plan_, {Role::kWorker, 0}, rendezvous_, {{}, 0, 3}, inherited);
  }
  std::string port_beside(std::uint16_t scheduler) {
    rendezvous_.scheduler.port = scheduler;
    return given({}).at("MASTER_PORT");
  }

  Plan plan_;
  Rendezvous rendezvous_{{"127.0.0.1", 41234}, "secret", {}};
};

TEST_F(LaunchWorkerVariables, MasterPortIsNoPortOfTheJob) {
  EXPECT_EQ(port_beside(9400), "29400");
  EXPECT_EQ(port_beside(29500), "20500") << "the scheduler listens at 29500";
  EXPECT_EQ(port_beside(19999), "29999");
  plan_.servers = 1000;
  EXPECT_EQ(port_beside(20000), "25000") << "servers have ports up to 24000";
}

TEST_F(LaunchWorkerVariables, MasterPortIsNoPortOfPages) {
  plan_.added_environment.emplace_back("STRETTO_PAGE_ADDRESS", "127.0.0.1:29400");
  EXPECT_EQ(port_beside(9400), "20400");
  plan_.added_environment.emplace_back("STRETTO_METRICS_ADDRESS", "[::]:20396");
  EXPECT_EQ(port_beside(9400), "21400") << "worker 1 has its metrics at 20400";
}

TEST_F(LaunchWorkerVariables, EmptyNumberOfThreadsIsKept) {
  EXPECT_TRUE(given({}).contains("OMP_NUM_THREADS"));
  EXPECT_FALSE(given({{"OMP_NUM_THREADS", ""}}).contains("OMP_NUM_THREADS"));
  plan_.added_environment.emplace_back("OMP_NUM_THREADS", "");
  EXPECT_EQ(given({}).at("OMP_NUM_THREADS"), "");
  EXPECT_FALSE(limits_threads(plan_, {{}, 0, 3}, {}));
}

}  // namespace
}  // namespace stretto::launch
