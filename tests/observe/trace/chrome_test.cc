// SPDX-License-Identifier: Apache-2.0
// Chrome traces there and back, their arrows, and files that are none.
#include "observe/trace/chrome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/observe/trace/made_trace.h"

namespace stretto::trace {
namespace {

using testing::HasSubstr;

std::string file_with(const std::string& text) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = testing::TempDir() + "chrome_" + test->name() + ".json";
  std::ofstream(path) << text;
  return path;
}

std::string written(const Trace& trace) {
  std::ostringstream out;
  write_chrome(out, trace);
  return out.str();
}

TEST(Chrome, WrittenTraceReadsBack) {
  Trace trace = made::make({});
  trace.tensors[2] = "odd \"name\"\n\x01 ü";
  trace.nodes[0].dropped = 5;
  Result<Trace> read = read_chrome(file_with(written(trace)));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->tensors, trace.tensors);
  ASSERT_EQ(read->nodes.size(), trace.nodes.size());
  EXPECT_EQ(read->nodes[0].dropped, 5U);
  EXPECT_EQ(read->records(), trace.records());
  std::int64_t origin = INT64_MAX;
  for (const Node& node : trace.nodes) {
    for (const TraceRecord& record : node.records) origin = std::min(origin, record.begin_ns);
  }
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    EXPECT_EQ(read->nodes[i].name(), trace.nodes[i].name());
    const auto order = [](const TraceRecord& a, const TraceRecord& b) {
      return a.begin_ns < b.begin_ns;
    };
    std::stable_sort(trace.nodes[i].records.begin(), trace.nodes[i].records.end(), order);
    for (std::size_t r = 0; r < trace.nodes[i].records.size(); ++r) {
      TraceRecord wanted = trace.nodes[i].records[r];
      wanted.begin_ns -= origin;
      wanted.end_ns -= origin;
      EXPECT_EQ(read->nodes[i].records[r], wanted);
    }
  }
}

TEST(Chrome, ArrowsLeadFromPushToSumToValueToItsEnd) {
  const made::Plan plan{.workers = 2, .servers = 1, .tensors = 1, .iterations = 3};
  const std::string text = written(made::make(plan));
  EXPECT_EQ(made::count(text, R"("ph":"s")"), 6U);
  EXPECT_EQ(made::count(text, R"("ph":"t")"), 12U);
  EXPECT_EQ(made::count(text, R"("ph":"f")"), 6U);
  EXPECT_EQ(made::count(text, R"("id":"3.1.0.2")"), 4U);
}

TEST(Chrome, SpansSideBySideHaveRowsOfTheirOwn) {
  Trace trace;
  trace.nodes.resize(1);
  TraceRecord record;
  record.kind = TraceKind::kQueueWait;
  record.end_ns = 100;
  trace.nodes[0].records = {record, record};
  record.begin_ns = 100;
  record.end_ns = 200;
  trace.nodes[0].records.push_back(record);
  const std::string text = written(trace);
  EXPECT_EQ(made::count(text, R"("tid":201,"ts")"), 2U);
  EXPECT_EQ(made::count(text, R"("tid":202,"ts")"), 1U);
}

TEST(Chrome, RejectsInvalidTraceFiles) {
  const std::string node = R"({"ph":"M","name":"process_name","pid":2,"args":{"name":"worker 0",)"
                           R"("role":"worker","rank":0,"shard":0,"dropped":0}})";
  const std::string span =
      R"({"ph":"X","cat":"send","name":"x","pid":2,"tid":1,"ts":1,"dur":2,"args":{"tensor":1,)"
      R"("part":0,"round":1,"bytes":1,"peer":1,"priority":0,"frame":2}})";
  const auto with = [&](std::string events, const std::string& from, const std::string& to) {
    const std::size_t at = events.find(from);
    if (!from.empty()) events.replace(at, from.size(), to);
    return R"({"traceEvents":[)" + events + "]}";
  };
  EXPECT_TRUE(read_chrome(file_with(with(node + "," + span, "", ""))).ok());
  for (const std::string& text :
       {std::string("no json"), std::string("[]"), std::string("{}"), std::string(),
        with(span, "", ""), with(node + "," + span, R"("ts":1)", R"("ts":1e300)"),
        with(node + "," + span, R"("dur":2)", R"("dur":-2)"),
        with(node + "," + span, R"("cat":"send")", R"("cat":"nothing")"),
        with(node + "," + span, R"("tensor":1)", R"("tensor":-1)"),
        with(node + "," + span, R"("round":1)", R"("round":"1")"),
        with(node, R"("rank":0)", R"("rank":1e99)")}) {
    const Result<Trace> read = read_chrome(file_with(text));
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(read.status().cause(), HasSubstr("stretto-trace"));
  }
  EXPECT_FALSE(read_chrome("/nonexistent/trace.json").ok());
}

TEST(Chrome, AFolderIsLedToMerge) {
  const std::string folder = testing::TempDir();
  EXPECT_THAT(read_chrome(folder).status().cause(), HasSubstr("stretto-trace merge " + folder));
}

TEST(Chrome, AFileThatFailsAsItIsReadIsNamed) {
  const std::string file = "/proc/self/mem";  // Nothing lies at its begin.
  EXPECT_THAT(read_chrome(file).status().cause(), HasSubstr(file));
}

}  // namespace
}  // namespace stretto::trace
