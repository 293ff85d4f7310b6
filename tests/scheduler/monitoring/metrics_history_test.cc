// SPDX-License-Identifier: Apache-2.0
// The last minutes of a job, from snapshots.
#include "scheduler/monitoring/metrics_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/clock.h"

namespace stretto {
namespace {

using Json = nlohmann::json;

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() {
    snapshot_.set_members(
        {{.node = 3, .role = Role::kWorker, .rank = 0, .shard = 0, .address = "", .left = false},
         {.node = 4, .role = Role::kWorker, .rank = 1, .shard = 0, .address = "", .left = false}});
  }
  // Both workers' heartbeats each half second for `time`, with `rate` rounds a second.
  void run(Duration time, double rate) {
    for (const Time end = now_ + time; now_ < end; now_ += 500ms) {
      rounds_ += rate / 2;
      for (const NodeId node : {3U, 4U}) {
        control::Heartbeat beat;
        beat.rounds = static_cast<std::uint64_t>(rounds_);
        beat.bytes_out = static_cast<std::uint64_t>(rounds_ * 1e6);
        beat.staleness = node;
        for (const auto& [name, value] : reports_) {
          beat.reports[name] = value * node;
        }
        snapshot_.heard(node, beat, now_);
      }
      history_.look(snapshot_, now_);
    }
  }
  Json json() const { return Json::parse(history_.json(now_)); }

  Snapshot snapshot_;
  History history_;
  std::map<std::string, double> reports_;
  double rounds_ = 0;
  Time now_{1h};
};

TEST_F(HistoryTest, AFastJobsStepIsItsRatesInverse) {
  run(20s, 100);
  const Json all = json();
  EXPECT_EQ(all["age_s"].size(), 10U);
  EXPECT_GT(all["age_s"][0], all["age_s"][9]);
  EXPECT_NEAR(all["step_s"][9].get<double>(), 0.01, 1e-4);
  EXPECT_NEAR(all["pushed"][9].get<double>(), 2e8, 1e6) << "of both workers";
  EXPECT_EQ(all["staleness"][9], 4);
}

TEST_F(HistoryTest, ASlowJobsStepsAreTimedSingly) {
  run(60s, 0.2);
  std::vector<double> steps;
  const Json all = json();
  for (const Json& step : all["step_s"]) {
    if (step.is_number()) steps.push_back(step);
  }
  ASSERT_GE(steps.size(), 8U);
  for (const double step : steps) EXPECT_NEAR(step, 5, 1.01) << "samples are 2 s apart";
}

TEST_F(HistoryTest, WhileNothingBeginsTheStepGrows) {
  run(20s, 10);
  run(20s, 0);
  const Json steps = json()["step_s"];
  EXPECT_NEAR(steps[steps.size() - 1].get<double>(), 18, 3);
  EXPECT_LT(steps[steps.size() - 2], steps[steps.size() - 1]);
  run(6s, 10);
  const Json after = json()["step_s"];
  EXPECT_LT(after[after.size() - 1].get<double>(), 0.5);
}

TEST_F(HistoryTest, ReportsAreTheMeanAndTheSpreadOfWorkers) {
  run(4s, 10);
  reports_["loss"] = 0.5;
  run(4s, 10);
  const Json loss = json()["reports"]["loss"];
  EXPECT_TRUE(loss["mean"][0].is_null());
  EXPECT_DOUBLE_EQ(loss["low"][3], 1.5);
  EXPECT_DOUBLE_EQ(loss["mean"][3], 1.75);
  EXPECT_DOUBLE_EQ(loss["high"][3], 2);
}

TEST_F(HistoryTest, MemoryIsBounded) {
  for (int i = 0; i < 30; ++i) reports_["name" + std::to_string(i)] = 1e300;
  run(15min, 1);
  const Json all = json();
  EXPECT_EQ(all["age_s"].size(), History::kMostSamples);
  EXPECT_EQ(all["reports"].size(), History::kMostNames);
  EXPECT_LT(history_.json(now_).size(), 200'000U);
}

TEST_F(HistoryTest, EmptySnapshotAddsNoSample) {
  history_.look(Snapshot(), now_);
  EXPECT_EQ(json()["age_s"].size(), 0U);
}

}  // namespace
}  // namespace stretto
