// SPDX-License-Identifier: Apache-2.0
// Contributions with NaN, by policy: the workers that are told, and the contents of the round.
// Whole jobs over sockets.
#include "worker/operations/non_finite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kLookedAt = 200'000;  // More than one part, at two shards.

TensorOptions options_of(NonFinite policy, Rule rule = Rule::kMean) {
  return {.update = {.rule = rule}, .non_finite = policy};
}

// Worker 1's contribution has a NaN, and an Inf in another part.
std::vector<float> contribution_of(const Worker& worker, bool bad) {
  std::vector<float> numbers(kLookedAt, static_cast<float>(worker.rank() + 1));
  if (bad && worker.rank() == 1) {
    numbers[70'000] = kNan;
    numbers[199'999] = std::numeric_limits<float>::infinity();
  }
  return numbers;
}

void expect_named(const Status& status) {
  EXPECT_EQ(status.code(), Code::kNotFinite);
  EXPECT_THAT(status.cause(),
              HasSubstr("tensor 'w': of the contribution of worker 1 2 of 200000 elements are NaN "
                        "or infinite, the first is nan at 70000"));
}

TEST(NonFiniteAction, RejectedShareIsExcludedFromMean) {
  const live::Cluster cluster({.workers = 3});
  cluster.run([](Worker& worker) {
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, kLookedAt, options_of(NonFinite::kReject)).or_exit();
    std::vector<float> mean(kLookedAt);
    const std::vector<float> own = contribution_of(worker, true);
    const Ticket ticket = worker.push_pull(tensor, own, mean);
    const Status status = ticket.wait();
    if (worker.rank() == 1) {
      expect_named(status);
      EXPECT_THAT(status.cause(), HasSubstr("nothing of it was sent"));
    } else {
      EXPECT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(ticket.info().contributors, 2U);
    }
    EXPECT_THAT(mean, Each(2.0F)) << "of 1 and 3, also where it was rejected";
    worker.push_pull(tensor, contribution_of(worker, false), mean).wait().or_exit();
    EXPECT_THAT(mean, Each(2.0F)) << "of 1, 2 and 3";
  });
}

TEST(NonFiniteAction, RejectedPushIsExcludedFromPulledSum) {
  const live::Cluster cluster({.workers = 2});
  cluster.run([](Worker& worker) {
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, kLookedAt, options_of(NonFinite::kReject, Rule::kSum))
            .or_exit();
    const Status status = worker.push(tensor, contribution_of(worker, true)).wait();
    EXPECT_EQ(status.code(), worker.rank() == 1 ? Code::kNotFinite : Code::kOk);
    std::vector<float> sum(kLookedAt);
    worker.pull(tensor, sum).wait().or_exit();
    EXPECT_THAT(sum, Each(1.0F));
  });
}

TEST(NonFiniteAction, WhereAllAreRejectedAMeanIsOfNothing) {
  const live::Cluster cluster({.workers = 2});
  cluster.run([](Worker& worker) {
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, kLookedAt, options_of(NonFinite::kReject)).or_exit();
    std::vector<float> mean(kLookedAt, 7);
    EXPECT_EQ(worker.push_pull(tensor, std::vector<float>(kLookedAt, kNan), mean).wait().code(),
              Code::kNotFinite);
    EXPECT_THAT(mean, Each(0.0F));
  });
}

TEST(NonFiniteAction, WhereOthersWouldWaitForItItIsRaised) {
  const live::Cluster cluster({.workers = 2});
  cluster.run([](Worker& worker) {
    TensorOptions options = options_of(NonFinite::kReject, Rule::kSum);
    options.mode = Mode::kBounded;
    const Tensor tensor = worker.declare("w", Dtype::kF32, kLookedAt, options).or_exit();
    std::vector<float> value(kLookedAt);
    Status status;
    for (int round = 0; status.ok(); ++round) {
      status = worker.push_pull(tensor, contribution_of(worker, round == 1), value).wait();
    }
    expect_named(status);
    EXPECT_EQ(worker.pull(tensor, value).wait().code(), Code::kNotFinite);
    EXPECT_EQ(worker.probe(tensor).wait().code(), Code::kNotFinite);
  });
}

TEST(NonFiniteAction, OtherErrorsPrecedeRejection) {
  const live::Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    const TensorOptions options = options_of(NonFinite::kReject);
    const Tensor rejected = worker.declare("r", Dtype::kF32, 1, options).or_exit();
    const Tensor unknown{.id = 77, .dtype = Dtype::kF32, .elements = 1};
    const float nan = kNan;
    float value = 0;
    const std::span source = std::as_bytes(std::span(&nan, 1));
    const std::span target = std::as_writable_bytes(std::span(&value, 1));
    const Transfer transfers[] = {{rejected, source, target}, {unknown, source, target}};
    const Status both = worker.push_pull(std::span(transfers)).wait();
    EXPECT_EQ(both.code(), Code::kInvalidArgument) << both.text();
    EXPECT_FALSE(is_rejected(both));
    EXPECT_TRUE(is_rejected(worker.push_pull(std::span(transfers, 1)).wait()));
  });
}

TEST(NonFiniteAction, WhereThereAreNoRoundsNothingIsSent) {
  const live::Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    TensorOptions options = options_of(NonFinite::kReject, Rule::kSum);
    options.mode = Mode::kAsync;
    const Tensor tensor = worker.declare("w", Dtype::kF32, 3, options).or_exit();
    std::vector<float> value(3);
    worker.push_pull(tensor, std::vector<float>{1, 2, 3}, value).wait().or_exit();
    EXPECT_EQ(worker.push_pull(tensor, std::vector<float>{1, kNan, 3}, value).wait().code(),
              Code::kNotFinite);
    worker.pull(tensor, value).wait().or_exit();
    EXPECT_EQ(value, (std::vector<float>{1, 2, 3}));
  });
}

TEST(NonFiniteAction, RaisedShareFailsTensorAtAllWorkers) {
  const live::Cluster cluster({.workers = 3});
  cluster.run([](Worker& worker) {
    const Tensor tensor =
        worker.declare("w", Dtype::kF32, kLookedAt, options_of(NonFinite::kRaise)).or_exit();
    const Tensor other = worker.declare("other", Dtype::kF32, 4).or_exit();
    std::vector<float> mean(kLookedAt);
    for (int round = 0; round < 2; ++round) {
      const Status status =
          worker.push_pull(tensor, contribution_of(worker, round == 0), mean).wait();
      expect_named(status);
      const bool by_others = worker.rank() != 1;
      EXPECT_EQ(by_others && !status.peer().empty(), by_others) << status.peer();
    }
    std::vector<float> numbers(4, 1);
    worker.push_pull(other, numbers, numbers).wait().or_exit();
    EXPECT_THAT(numbers, Each(3.0F)) << "the job goes on";
  });
}

TEST(NonFiniteAction, PeerExchangeRaisesRejectedShares) {
  for (const NonFinite policy : {NonFinite::kRaise, NonFinite::kReject}) {
    const live::Cluster cluster({.workers = 3, .shards = 0});
    cluster.run([policy](Worker& worker) {
      TensorOptions options = options_of(policy);
      options.exchange = Exchange::kRing;
      const Tensor tensor = worker.declare("w", Dtype::kF32, kLookedAt, options).or_exit();
      std::vector<float> mean(kLookedAt);
      expect_named(worker.push_pull(tensor, contribution_of(worker, true), mean).wait());
      worker.barrier().or_exit();  // Otherwise peers with pending pushes would miss this worker.
    });
  }
}

TEST(NonFiniteAction, PassedOrCountedSharesContribute) {
  for (const NonFinite policy : {NonFinite::kPass, NonFinite::kCount}) {
    const live::Cluster cluster({.workers = 2});
    cluster.run([policy](Worker& worker) {
      const Tensor tensor =
          worker.declare("w", Dtype::kF32, kLookedAt, options_of(policy)).or_exit();
      std::vector<float> mean(kLookedAt);
      worker.push_pull(tensor, contribution_of(worker, true), mean).wait().or_exit();
      EXPECT_TRUE(std::isnan(mean[70'000]) && std::isinf(mean[199'999]));
      EXPECT_EQ(mean[0], 1.5F);
    });
  }
}

TEST(NonFiniteAction, WorkersMayHaveOtherPolicies) {
  const live::Cluster cluster({.workers = 2});
  cluster.run([](Worker& worker) {
    const NonFinite policy = worker.rank() == 0 ? NonFinite::kPass : NonFinite::kReject;
    const Tensor tensor = worker.declare("w", Dtype::kF32, 2, options_of(policy)).or_exit();
    EXPECT_EQ(tensor.non_finite, policy);
    std::vector<float> numbers(2, 1);
    worker.push_pull(tensor, numbers, numbers).wait().or_exit();
  });
}

}  // namespace
}  // namespace stretto
