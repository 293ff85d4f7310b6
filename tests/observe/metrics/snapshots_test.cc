// SPDX-License-Identifier: Apache-2.0
// The board, a loop's pen at it, and what a Van has to say.
#include "observe/metrics/snapshots.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/van/far_end.h"
#include "van/engine/van_metrics.h"

namespace stretto::metrics {
namespace {

Metric named(const std::string& name) {
  Metric metric;
  metric.name = name;
  return metric;
}

bool has(const Metrics& metrics, const std::string& name) {
  return std::any_of(metrics.begin(), metrics.end(),
                     [&](const Metric& metric) { return metric.name == name; });
}

TEST(MetricsSnapshots, SourceReplacesOwnMetrics) {
  MetricsSnapshots board;
  board.put(1, {named("a"), named("b")});
  board.put(2, {named("c")});
  board.put(1, {named("d")});
  const Metrics all = board.all();
  EXPECT_FALSE(has(all, "a"));
  EXPECT_TRUE(has(all, "c"));
  EXPECT_TRUE(has(all, "d"));
}

TEST(MetricsSnapshots, MemoryIsAlwaysThere) {
  MetricsSnapshots board;
  const Metrics all = board.all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_GT(all[0].value, 1e6);
}

TEST(MetricsSnapshots, APenIsDueNowAndThen) {
  MetricsSnapshots board;
  Publisher pen;
  const Time now{1h};
  EXPECT_FALSE(pen.due(now));
  pen.set_board(&board, 3);
  EXPECT_TRUE(pen.due(now));
  pen.put({named("x")}, now);
  EXPECT_FALSE(pen.due(now + 100ms));
  EXPECT_TRUE(pen.due(now + 1s));
  EXPECT_TRUE(has(board.all(), "x"));
}

TEST(MetricsSnapshots, VanReportsQueueDepthByPriority) {
  sim::VirtualClock clock;
  fake::Wire wire;
  Van van(fake::scripted_transport(wire), clock);
  const LinkId link = van.links().connect("127.0.0.1:1", control::Hello()).or_exit();
  for (const int priority : {3, 3, -1}) {
    wire::Header header;
    header.kind = wire::Kind::kPush;
    header.priority = priority;
    van.send(link, header, Buffer());
  }
  const Metrics metrics = metrics_of(van, {{"role", "worker"}});
  std::vector<double> depths;
  for (const Metric& metric : metrics) {
    EXPECT_EQ(metric.labels.front().second, "worker");
    EXPECT_FALSE(metric.help.empty());
    if (metric.name == "stretto_queue_depth") depths.push_back(metric.value);
  }
  EXPECT_EQ(depths, (std::vector<double>{1, 2}));
  EXPECT_TRUE(has(metrics, "stretto_preemptions_total"));
}

}  // namespace
}  // namespace stretto::metrics
