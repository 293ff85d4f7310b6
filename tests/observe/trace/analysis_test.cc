// SPDX-License-Identifier: Apache-2.0
// Finds a loss of 50 ms in any node, and checks overlap, efficiency and order of frames.
#include "observe/trace/analysis.h"

#include <gtest/gtest.h>

#include "tests/observe/trace/made_trace.h"

namespace stretto::trace {
namespace {

using made::Where;

bool at_server(Where where) {
  return where == Where::kServer || where == Where::kBusy || where == Where::kStopped ||
         where == Where::kServerLink;
}

bool is_link(const IterationReport& report) {
  return report.cause == Cause::kPush || report.cause == Cause::kPull;
}

class Injected : public testing::TestWithParam<Where> {};

TEST_P(Injected, IsFoundTenTimesOfTen) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    made::Plan plan{.seed = seed, .where = GetParam()};
    plan.who =
        static_cast<std::uint32_t>(seed % (at_server(GetParam()) ? plan.servers : plan.workers));
    const Trace trace = made::make(plan);
    const Analysis analysis = analyse(trace);
    ASSERT_GE(analysis.iterations.size(), plan.iterations - 2);
    for (const IterationReport& report : analysis.iterations) {
      const std::size_t worker = made::place_of_worker(plan, plan.who);
      switch (GetParam()) {
        case Where::kCompute:
          EXPECT_EQ(report.cause, Cause::kCompute);
          EXPECT_EQ(report.culprit, worker);
          break;
        case Where::kInput:
          EXPECT_EQ(report.cause, Cause::kInput);
          EXPECT_EQ(report.culprit, worker);
          break;
        case Where::kWorkerStopped:
          EXPECT_EQ(report.cause, Cause::kCompute);
          EXPECT_EQ(report.culprit, worker);
          break;
        case Where::kLink:
          EXPECT_TRUE(is_link(report));
          EXPECT_EQ(report.culprit, worker);
          EXPECT_EQ(report.peer, kNobody);
          break;
        case Where::kServerLink:
          EXPECT_TRUE(is_link(report));
          EXPECT_EQ(report.culprit, plan.who);
          EXPECT_EQ(report.peer, kNobody);
          break;
        case Where::kOneLink:
          EXPECT_TRUE(is_link(report));
          EXPECT_EQ(report.culprit, worker);
          EXPECT_EQ(report.peer, 0U);
          break;
        case Where::kServer:
        case Where::kBusy:
        case Where::kStopped:
          EXPECT_EQ(report.cause, Cause::kServerQueue);
          EXPECT_EQ(report.culprit, plan.who);
          break;
        case Where::kCodec:
          EXPECT_EQ(report.cause, Cause::kStaging);
          EXPECT_EQ(report.culprit, worker);
          break;
        case Where::kNowhere:
          break;
      }
      EXPECT_GT(report.excess_ns, 20'000'000) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Injected,
                         testing::Values(Where::kCompute, Where::kInput, Where::kLink,
                                         Where::kServerLink, Where::kOneLink, Where::kServer,
                                         Where::kBusy, Where::kStopped, Where::kWorkerStopped,
                                         Where::kCodec));

// With one worker and one server the whole iteration is slow: only other iterations are typical.
TEST(Analysis, ComparesIterationsOfSingleLink) {
  const made::Plan plan{.workers = 1, .servers = 1, .tensors = 1, .iterations = 9};
  Trace trace = made::make(plan);
  constexpr std::uint64_t kSlow = 5;
  constexpr std::int64_t kLost = 50'000'000;
  std::int64_t from = 0;  // When the contribution to that round left.
  for (const TraceRecord& record : trace.nodes[1].records) {
    const bool first = from == 0 && record.round == kSlow;
    if (first && record.kind == TraceKind::kSend) from = record.begin_ns + 1;
  }
  ASSERT_GT(from, 0);
  for (Node& node : trace.nodes) {  // All later records move; those in flight took longer.
    for (TraceRecord& record : node.records) {
      if (record.begin_ns >= from) record.begin_ns += kLost;
      if (record.end_ns >= from) record.end_ns += kLost;
    }
  }
  const Analysis analysis = analyse(trace);
  EXPECT_EQ(analysis.cause, Cause::kPush);
  EXPECT_EQ(analysis.culprit, made::place_of_worker(plan, 0));
  EXPECT_EQ(analysis.peer, 0U);
  EXPECT_NEAR(static_cast<double>(analysis.excess_ns[static_cast<std::size_t>(Cause::kPush)]),
              static_cast<double>(kLost), 2e6);
}

TEST(Analysis, ACriticalPathHasNoHoles) {
  const Analysis analysis = analyse(made::make({.where = Where::kCompute, .who = 1}));
  ASSERT_FALSE(analysis.iterations.empty());
  for (const IterationReport& report : analysis.iterations) {
    ASSERT_FALSE(report.critical.empty());
    for (std::size_t i = 1; i < report.critical.size(); ++i) {
      EXPECT_EQ(report.critical[i].begin, report.critical[i - 1].end);
    }
    EXPECT_EQ(report.critical.front().cause, Cause::kCompute);
    EXPECT_EQ(report.critical.back().cause, Cause::kPull);
  }
}

// A single server or worker has no peer of its kind to compare with.
TEST(Analysis, AStoppedServerIsFoundWithoutOthersOfItsKind) {
  for (const auto& [workers, servers] : {std::pair(3U, 1U), std::pair(1U, 2U)}) {
    const made::Plan plan{.workers = workers, .servers = servers, .where = Where::kStopped};
    for (const IterationReport& report : analyse(made::make(plan)).iterations) {
      EXPECT_EQ(report.cause, Cause::kServerQueue);
      EXPECT_EQ(report.culprit, 0U);
    }
  }
}

TEST(Analysis, OneTimePushIsNoIteration) {
  const made::Plan plan{.workers = 2, .servers = 1, .tensors = 2, .iterations = 6};
  Trace trace = made::make(plan);
  for (std::uint32_t w = 0; w < plan.workers; ++w) {
    TraceRecord last;
    last.kind = TraceKind::kQueueWait;
    last.frame = kPushFrame;
    last.tensor = 99;
    last.round = 1;
    last.begin_ns = last.end_ns = std::int64_t{1} << 40;
    trace.nodes[made::place_of_worker(plan, w)].records.push_back(last);
  }
  EXPECT_GE(analyse(trace).iterations.size(), plan.iterations - 2);
}

TEST(Analysis, OmitsIterationsMissingSlowWorker) {
  const made::Plan plan{.workers = 2, .servers = 1, .tensors = 1, .iterations = 8};
  Trace trace = made::make(plan);
  const std::uint32_t slow = trace.nodes[made::place_of_worker(plan, 1)].node;
  for (std::size_t place = 0; place < trace.nodes.size(); ++place) {
    std::erase_if(trace.nodes[place].records, [&](const TraceRecord& record) {
      const bool own = trace.nodes[place].node == slow || record.peer == slow;
      return own && record.round > 5;  // The other worker is three rounds ahead.
    });
  }
  const Analysis analysis = analyse(trace);
  ASSERT_FALSE(analysis.iterations.empty());
  EXPECT_LE(analysis.iterations.back().number, 5U);
}

TEST(Analysis, NoOverlapHasNoEfficiency) {
  const Analysis analysis = analyse(made::make({.workers = 1, .servers = 1}));
  ASSERT_FALSE(analysis.iterations.empty());
  for (const IterationReport& report : analysis.iterations) {
    EXPECT_NEAR(report.efficiency, 0, 0.02);
    EXPECT_LE(report.overlap_ns, 10'000);
    EXPECT_GE(report.compute_ns, 5'000'000);
    EXPECT_GE(report.communication_ns, 400'000);
    EXPECT_LE(report.compute_ns + report.communication_ns, report.makespan_ns + 20'000);
  }
}

TEST(Analysis, FramesThatLeaveBeforeMoreUrgentOnesAreCounted) {
  Trace trace;
  trace.nodes.resize(1);
  const auto waited = [&](std::int64_t from, std::int64_t to, std::int32_t priority,
                          std::uint32_t peer) {
    TraceRecord record;
    record.kind = TraceKind::kQueueWait;
    record.begin_ns = from;
    record.end_ns = to;
    record.priority = priority;
    record.peer = peer;
    trace.nodes[0].records.push_back(record);
  };
  waited(0, 10, 1, 7);  // Leaves while the next one waits,
  waited(5, 20, 2, 7);
  waited(6, 15, 1, 8);   // to another peer: irrelevant,
  waited(20, 30, 3, 7);  // queued after the first one left: irrelevant.
  const Analysis analysis = analyse(trace);
  EXPECT_EQ(analysis.frames, 4U);
  EXPECT_EQ(analysis.order_violations, 1U);
  EXPECT_TRUE(analysis.iterations.empty());
}

TEST(Analysis, SpansAreJoinedAndCut) {
  const Spans spans = joined({{5, 7}, {0, 2}, {1, 4}, {7, 8}});
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(length_of(spans), 7);
  EXPECT_EQ(length_of(common_of(spans, {{3, 6}})), 2);
  EXPECT_EQ(length_of(common_of(spans, {})), 0);
  EXPECT_EQ(length_of(without(spans, {{3, 6}, {7, 9}})), 4);
  EXPECT_EQ(length_of(without(spans, {})), 7);
  EXPECT_EQ(length_of(without({{0, 4}, {6, 9}}, {{3, 7}})), 5);
}

TEST(Analysis, AnEmptyTraceSaysNothing) {
  const Analysis analysis = analyse({});
  EXPECT_TRUE(analysis.iterations.empty());
  EXPECT_EQ(analysis.frames, 0U);
}

}  // namespace
}  // namespace stretto::trace
