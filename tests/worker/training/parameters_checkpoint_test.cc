// SPDX-License-Identifier: Apache-2.0
// Parameters in a job that resumes from a checkpoint: bit-identical in every mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "stretto/checkpoints.h"
#include "stretto/parameters.h"
#include "tests/worker/live_cluster.h"

namespace stretto {
namespace {

using testing::HasSubstr;
using Weights = std::vector<float>;

constexpr std::size_t kWide = 300;
constexpr std::size_t kNarrow = 5;

class ParametersCheckpointTest : public testing::TestWithParam<Mode> {
 protected:
  ParametersCheckpointTest()
      : folder_(testing::TempDir() + "stretto-parameters-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~ParametersCheckpointTest() override { std::filesystem::remove_all(folder_); }

  live::Plan plan(std::uint32_t workers, std::uint32_t shards) const {
    live::Plan plan{.workers = workers, .shards = shards, .checkpoint = {.folder = folder_}};
    plan.job.part_bytes = 256;
    return plan;
  }
  static Result<Parameters> open(Worker& worker, Mode mode, std::size_t small = kNarrow) {
    const Weights large(kWide, 0.5F);
    const Weights bias(small, static_cast<float>(worker.rank()));
    return Parameters::open(worker, {{"w", large}, {"b", bias}},
                            {.mode = mode,
                             .optimizer = {.rule = Rule::kAdam, .rate = 0.01},
                             .deterministic = mode == Mode::kSync || mode == Mode::kEager});
  }
  // Depends on the rank, the step and the values.
  static Weights gradient(std::span<const float> values, Rank rank, std::uint64_t step) {
    Weights made(values.begin(), values.end());
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] += static_cast<float>((i * 3 + rank + step) % 7) - 3;
    }
    return made;
  }
  static void train(Worker& worker, Parameters& weights, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t step = first; step < end; ++step) {
      const Weights large = gradient(weights.values(0), worker.rank(), step);
      const Weights small = gradient(weights.values(1), worker.rank(), step);
      ASSERT_TRUE(weights.step({large, small}).ok());
    }
    ASSERT_TRUE(weights.finish().ok());
  }
  static Weights all_of(const Parameters& weights) {
    Weights all(weights.values(0).begin(), weights.values(0).end());
    all.insert(all.end(), weights.values(1).begin(), weights.values(1).end());
    return all;
  }

  std::string folder_;
};

TEST_P(ParametersCheckpointTest, GoOnAsIfNothingHadBeen) {
  // Without rounds, the order of updates is fixed only for a single worker.
  const std::uint32_t workers = has_rounds(GetParam()) ? 2 : 1;
  Weights at_the_cut;
  Weights undisturbed;
  live::Cluster(plan(workers, 2)).run([&](Worker& worker) {
    Parameters weights = open(worker, GetParam()).or_exit();
    train(worker, weights, 0, 4);
    const Status made = Checkpoints(worker).save(4, weights.attachments());
    ASSERT_TRUE(made.ok()) << made.text();
    const Weights then = all_of(weights);
    train(worker, weights, 4, 8);
    if (worker.rank() != 0) return;
    at_the_cut = then;
    undisturbed = all_of(weights);
  });
  live::Cluster(plan(workers, 3)).run([&](Worker& worker) {
    Parameters weights = open(worker, GetParam()).or_exit();
    EXPECT_EQ(all_of(weights), at_the_cut);
    train(worker, weights, 4, 8);
    EXPECT_EQ(all_of(weights), undisturbed);
  });
  live::Cluster(plan(3, 1)).run([&](Worker& worker) {
    Parameters weights = open(worker, GetParam()).or_exit();
    EXPECT_EQ(all_of(weights), at_the_cut) << "also where there were fewer";
    ASSERT_TRUE(worker.barrier().ok());
    train(worker, weights, 4, 6);
  });
}

TEST_P(ParametersCheckpointTest, AnotherModelIsRefused) {
  live::Cluster(plan(1, 1)).run([](Worker& worker) {
    Parameters weights = open(worker, GetParam()).or_exit();
    train(worker, weights, 0, 1);
    ASSERT_TRUE(Checkpoints(worker).save(1, weights.attachments()).ok());
  });
  live::Cluster(plan(1, 1)).run([](Worker& worker) {
    const Status other = open(worker, GetParam(), kNarrow + 1).status();
    EXPECT_EQ(other.code(), Code::kMismatch) << other.text();
  });
  live::Cluster(plan(1, 1)).run([](Worker& worker) {
    const Weights values(kWide);
    const Status more =
        Parameters::open(worker, {{"w", values}, {"new", values}},
                         {.mode = GetParam(), .optimizer = {.rule = Rule::kAdam, .rate = 0.01}})
            .status();
    EXPECT_EQ(more.code(), Code::kMismatch) << more.text();
    EXPECT_THAT(more.text(), HasSubstr("lacks 'new'"));
  });
  live::Cluster(plan(1, 1)).run([](Worker& worker) {
    const Weights values(kWide);
    const auto altogether =
        Parameters::open(worker, {{"altogether", values}}, {.mode = GetParam()});
    EXPECT_EQ(altogether.status().code(), Code::kMismatch) << "it does not begin anew unasked";
  });
}

INSTANTIATE_TEST_SUITE_P(Modes, ParametersCheckpointTest,
                         testing::Values(Mode::kSync, Mode::kBounded, Mode::kAsync, Mode::kEager,
                                         Mode::kEagerAsync),
                         [](const auto& each) { return std::string(name_of(each.param)); });

}  // namespace
}  // namespace stretto
