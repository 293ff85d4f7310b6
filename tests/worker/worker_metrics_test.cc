// SPDX-License-Identifier: Apache-2.0
// A worker's numbers have its rank, and those of its program their names.
#include "worker/monitoring/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using testing::Contains;
using testing::Pair;

TEST(WorkerMetrics, AreLabelledByRankAndByReportedName) {
  sim::VirtualClock clock;
  fake::Wire wire;
  Van van(fake::scripted_transport(wire), clock);
  Tensors tensors;
  const ExchangeDispatcher exchange(van, clock, tensors, std::chrono::seconds(1));
  const metrics::Metrics made = worker_metrics(van, exchange, 0, Heartbeats(), {{"loss", 0.5}});
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(made.back().name, "stretto_reported");
  EXPECT_THAT(made.back().labels, Contains(Pair("name", "loss")));
  EXPECT_THAT(made.back().labels, Contains(Pair("role", "worker")));
  EXPECT_EQ(std::ranges::count(made, "stretto_staleness", &metrics::Metric::name), 1);
}

}  // namespace
}  // namespace stretto
