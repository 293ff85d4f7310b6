// SPDX-License-Identifier: Apache-2.0
// SIGTERM, sent to this process, and what becomes of a worker in a live job.
#include "stretto/notices.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

live::Plan elastic_pair() { return {.workers = 2, .shards = 1, .job = {.min_workers = 1}}; }

bool ends_by_default() {
  struct sigaction now{};
  return ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

TEST(Notices, AWorkerThatIsToldLeavesAndTheOthersGoOn) {
  live::Cluster cluster(elastic_pair());
  cluster.run([](Worker& worker) {
    const Tensor tensor = *worker.declare("sum", Dtype::kF32, 1);
    const auto share = [&] {
      float one = 1;
      EXPECT_TRUE(
          worker.push_pull(tensor, std::span<const float>(&one, 1), std::span<float>(&one, 1))
              .wait()
              .ok());
      return one;
    };
    EXPECT_EQ(share(), 2.F);
    if (worker.rank() == 1) {
      Notices notices(worker);
      EXPECT_FALSE(notices.told());
      EXPECT_FALSE(*notices.leave_if_told());
      ASSERT_EQ(std::raise(SIGTERM), 0);
      ASSERT_TRUE(notices.told());
      ASSERT_EQ(std::raise(SIGTERM), 0) << "the same one, said by somebody else";
      EXPECT_EQ(share(), 2.F) << "its step goes on";
      const Result<bool> left = notices.leave_if_told();
      ASSERT_TRUE(left.ok()) << left.status().text();
      EXPECT_TRUE(*left);
      return;
    }
    EXPECT_EQ(share(), 2.F);
    EXPECT_EQ(share(), 1.F);
  });
  for (const Status& outcome : cluster.outcomes()) EXPECT_TRUE(outcome.ok()) << outcome.text();
}

TEST(Notices, NoticesLeaveFixedJobsAndHandlersAlone) {
  live::Cluster cluster({.workers = 1, .shards = 1});
  cluster.run([](Worker& worker) {
    const Notices notices(worker);
    EXPECT_TRUE(ends_by_default());
  });
  live::Cluster elastic({.workers = 1, .shards = 1, .job = {.min_workers = 1}});
  elastic.run([](Worker& worker) {
    const auto before = std::signal(SIGTERM, SIG_IGN);
    {
      Notices notices(worker);
      ASSERT_EQ(std::raise(SIGTERM), 0);
      EXPECT_FALSE(notices.told());
      EXPECT_FALSE(*notices.leave_if_told());
    }
    std::signal(SIGTERM, before);
    {
      const Notices notices(worker);
    }
    EXPECT_TRUE(ends_by_default());
  });
}

TEST(NoticesDeathTest, PatienceEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stands_still = [] {
    live::Cluster cluster({.workers = 1, .shards = 1, .job = {.min_workers = 1}});
    cluster.run([](Worker& worker) {
      const Notices notices(worker, std::chrono::milliseconds(10));
      ::kill(::getpid(), SIGTERM);
      for (;;) ::pause();
    });
  };
  EXPECT_EXIT(stands_still(), testing::KilledBySignal(SIGTERM), "was told to end");
}

}  // namespace
}  // namespace stretto
