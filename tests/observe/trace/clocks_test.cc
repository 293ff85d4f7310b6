// SPDX-License-Identifier: Apache-2.0
// The test adds offsets to equal clocks; Clocks recovers them from send and receive times.
#include "observe/trace/clocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/observe/trace/made_trace.h"

namespace stretto::trace {
namespace {

void shift(Node& node, std::int64_t by) {
  for (TraceRecord& record : node.records) {
    record.begin_ns += by;
    record.end_ns += by;
  }
}

TEST(Clocks, RecoverInjectedOffsets) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const made::Plan plan{.workers = 5, .servers = 3, .tensors = 9, .seed = seed};
    Trace trace = made::make(plan);
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> any(-3'600'000'000'000, 3'600'000'000'000);
    std::vector<std::int64_t> offsets;
    for (Node& node : trace.nodes) {
      offsets.push_back(any(random));
      shift(node, offsets.back());
    }
    const Clocks clocks = clocks_of(trace);
    EXPECT_EQ(clocks.pairs, 15U);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const auto truth = static_cast<double>(offsets[i] - offsets[0]);
      // Delays vary at random by up to 0.2 ms; the minima of eight rounds vary by much less.
      EXPECT_NEAR(clocks.shift_ns[i], truth, 100'000) << "seed " << seed << " node " << i;
    }
    EXPECT_GT(clocks.least_round_trip_ns, 400'000);
  }
}

TEST(Clocks, AlignedTracesAreCausal) {
  Trace trace = made::make({});
  shift(trace.nodes[1], 7'000'000'000);
  shift(trace.nodes[3], -9'000'000'000);
  align(trace, clocks_of(trace));
  std::map<std::pair<FlowKey, std::uint8_t>, std::int64_t> sent;
  for (const Node& node : trace.nodes) {
    for (const TraceRecord& record : node.records) {
      if (record.kind == TraceKind::kSend)
        sent[{flow_of(node, record), record.frame}] = record.begin_ns;
    }
  }
  for (const Node& node : trace.nodes) {
    for (const TraceRecord& record : node.records) {
      if (record.kind != TraceKind::kReceive) continue;
      const auto at = sent.find({flow_of(node, record), record.frame});
      ASSERT_NE(at, sent.end());
      EXPECT_GT(record.begin_ns, at->second);
    }
  }
}

TEST(Clocks, OneDirectionIsBetterThanNothing) {
  Trace trace = made::make({.workers = 1, .servers = 1});
  for (Node& node : trace.nodes) {
    std::erase_if(node.records, [](const TraceRecord& r) { return r.frame == kValueFrame; });
  }
  shift(trace.nodes[1], 5'000'000'000);
  const Clocks clocks = clocks_of(trace);
  EXPECT_EQ(clocks.pairs, 0U);
  EXPECT_NEAR(clocks.shift_ns[1], 5e9, 1e6);
}

TEST(Clocks, NoTimesAreTooFarApartToBeMoved) {
  Trace trace = made::make({.workers = 1, .servers = 1});
  constexpr std::int64_t kFar = (std::int64_t{1} << 60) - 100'000'000'000;
  shift(trace.nodes[0], kFar);
  shift(trace.nodes[1], -kFar - 10'000'000'000);
  for (const Node& node : trace.nodes) {
    for (const TraceRecord& record : node.records) ASSERT_TRUE(sensible(record));
  }
  align(trace, clocks_of(trace));
  const TraceRecord& first = trace.nodes[0].records.front();
  EXPECT_NEAR(static_cast<double>(first.begin_ns - trace.nodes[1].records.front().begin_ns), 0,
              1e9);
}

TEST(Clocks, NodesThatNothingJoinsAreLeftAlone) {
  Trace trace;
  trace.nodes.resize(2);
  EXPECT_EQ(clocks_of(trace).shift_ns, (std::vector<double>{0, 0}));
  EXPECT_TRUE(clocks_of({}).shift_ns.empty());
}

}  // namespace
}  // namespace stretto::trace
