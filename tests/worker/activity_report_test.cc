// SPDX-License-Identifier: Apache-2.0
// Where the program is, and since when, from looks at who waits.
#include "worker/monitoring/activity_report.h"

#include <gtest/gtest.h>

#include <optional>

namespace stretto {
namespace {

using Place = control::Activity::Place;

class ActivityReportTest : public testing::Test {
 protected:
  ActivityReportTest() { report_.set_callers(callers_); }
  control::Activity after(Duration time, Time oldest = Time()) {
    now_ += time;
    return report_.at(now_, {}, oldest);
  }

  std::shared_ptr<WaitingThreads> callers_ = std::make_shared<WaitingThreads>();
  ActivityReport report_;
  Time now_{1h};
};

TEST_F(ActivityReportTest, NonWaitingThreadIsOutside) {
  EXPECT_EQ(after(0s).place, Place::kOutside);
  EXPECT_EQ(after(3s).age, 3s);
  {
    const WaitingThreads::Wait wait(*callers_);
  }
  EXPECT_EQ(after(1s).age, 0s) << "it was here meanwhile";
  EXPECT_EQ(after(1s).age, 1s);
}

TEST_F(ActivityReportTest, ThreadInCallAgesByOldestOperation) {
  after(0s);
  std::optional<WaitingThreads::Wait> wait;
  wait.emplace(*callers_);
  EXPECT_EQ(after(1s).place, Place::kInCall);
  EXPECT_EQ(after(1s).age, 1s);
  EXPECT_EQ(after(1s, now_ - 8s).age, 9s);
  wait.reset();
  EXPECT_EQ(after(1s).place, Place::kOutside);
}

TEST_F(ActivityReportTest, PollingThreadCountsAsInCall) {
  after(0s);
  {
    const WaitingThreads::Wait wait(*callers_);
  }
  EXPECT_EQ(after(1s, now_ - 4s).place, Place::kInCall);
  EXPECT_EQ(after(1s, now_ - 4s).place, Place::kOutside) << "it asks no more";
}

TEST_F(ActivityReportTest, PausesAndTheEndAreTold) {
  const std::uint64_t outer = report_.pauses()->begin("evaluation");
  const std::uint64_t inner = report_.pauses()->begin("");
  EXPECT_EQ(after(1s).pause, "a pause");
  report_.pauses()->end(inner);
  EXPECT_EQ(after(1s).pause, "evaluation");
  report_.pauses()->end(outer);
  EXPECT_EQ(after(1s).pause, "");
  report_.pauses()->note_ending();
  EXPECT_EQ(after(1s).place, Place::kEnding);
}

TEST_F(ActivityReportTest, ReportsThreadStateAfterLongOutside) {
  after(0s);
  EXPECT_EQ(after(500ms).rest, control::Activity::Rest::kUnknown);
  EXPECT_EQ(after(500ms).rest, control::Activity::Rest::kRuns) << "the one that asks";
  EXPECT_GT(after(0s).cpu, 0s);
}

}  // namespace
}  // namespace stretto
