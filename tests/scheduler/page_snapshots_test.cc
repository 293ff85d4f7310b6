// SPDX-License-Identifier: Apache-2.0
// Snapshots for the page, wishes of the page, and the timeline's text.
#include "scheduler/dashboard/page_snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/observe/trace/made_trace.h"

namespace stretto {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageSnapshots, ReturnsLastPublishedContent) {
  PageSnapshots board;
  EXPECT_EQ(board.snapshot(0), "{}");
  EXPECT_EQ(board.trace(), "{}");
  board.show({"a", "b"}, "state", "curves");
  EXPECT_EQ(board.history(), "curves");
  EXPECT_EQ(board.snapshot(1), "b");
  EXPECT_EQ(board.snapshot(7), "a");
  EXPECT_EQ(board.trace_state(), "state");
}

TEST(PageSnapshots, AWishIsTakenOnce) {
  PageSnapshots board;
  board.wish({.iterations = 3, .seconds = 9});
  EXPECT_EQ(board.take_wish()->iterations, 3U);
  EXPECT_FALSE(board.take_wish().has_value());
}

TEST(PageSnapshots, TheTimelineHasNodesSpansAndAReport) {
  PageSnapshots board;
  board.show_trace(std::make_shared<trace::Trace>(
      trace::made::make({.where = trace::made::Where::kCompute, .who = 1})));
  const std::string text = board.trace();
  EXPECT_THAT(text, HasSubstr(R"("name":"worker 1")"));
  EXPECT_THAT(text, HasSubstr("computing of worker 1"));
  EXPECT_THAT(text, HasSubstr(R"(["pull_wait",)"));
  EXPECT_EQ(board.trace(), text);
}

TEST(PageSnapshots, ASpanHasTheNameOfItsTensorIfItIsOfOne) {
  trace::Trace trace;
  trace.tensors[3] = "weights";
  trace.nodes.resize(1);
  for (const std::uint32_t tensor : {0U, 3U, 4U}) {
    TraceRecord record;
    record.begin_ns = record.end_ns = 1000 * tensor;
    record.tensor = tensor;
    record.round = 17 + tensor;
    trace.nodes.front().records.push_back(record);
  }
  const std::string text = timeline_json(trace);
  EXPECT_THAT(text, HasSubstr(R"(,"",17])"));
  EXPECT_THAT(text, HasSubstr(R"(,"weights",20])"));
}

TEST(PageSnapshots, ATextThatIsReadyLateReplacesNoLaterTraces) {
  PageSnapshots board;
  const auto trace = std::make_shared<trace::Trace>();
  board.show_trace(trace);
  const auto [first, first_number] = board.take_trace();
  EXPECT_EQ(first, trace);
  EXPECT_EQ(board.take_trace().first, nullptr);
  board.show_trace(trace);
  const auto [second, second_number] = board.take_trace();
  EXPECT_EQ(board.keep(second_number, "second"), "second");
  EXPECT_EQ(board.keep(first_number, "first"), "second");
  EXPECT_EQ(board.trace(), "second");
}

TEST(PageSnapshots, ALongTraceShowsItsEnd) {
  trace::Trace trace;
  trace.nodes.resize(1);
  for (std::int64_t i = 0; i < 50'000; ++i) {
    TraceRecord record;
    record.begin_ns = record.end_ns = i * 1000;
    record.round = static_cast<std::uint64_t>(i);
    trace.nodes[0].records.push_back(record);
  }
  const std::string text = timeline_json(trace);
  EXPECT_THAT(text, HasSubstr(",49998]"));
  EXPECT_THAT(text, Not(HasSubstr(",29000]")));
}

}  // namespace
}  // namespace stretto
