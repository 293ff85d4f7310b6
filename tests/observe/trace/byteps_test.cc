// SPDX-License-Identifier: Apache-2.0
// comm.json as BytePS's users know it.
#include "observe/trace/byteps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "observe/trace/recorder.h"
#include "tests/observe/trace/made_trace.h"

namespace stretto::trace {
namespace {

using testing::HasSubstr;

Trace of_one_worker() {
  const made::Plan plan{.workers = 1, .servers = 1, .tensors = 2, .iterations = 3};
  Trace trace = made::make(plan);
  trace.nodes.erase(trace.nodes.begin());
  return trace;
}

TEST(Byteps, WritesTotalAndStagesPerTensor) {
  const std::string text = byteps_json(of_one_worker());
  EXPECT_EQ(made::count(text, R"("name": "Comm.byteps.layer1.PUSH")"), 3U);
  EXPECT_EQ(made::count(text, R"("name": "Comm.byteps.layer1.PULL")"), 3U);
  EXPECT_EQ(made::count(text, R"("tid": "total")"), 6U);
  EXPECT_EQ(made::count(text, R"("pid": "Comm.byteps.layer2")"), 9U);
  EXPECT_EQ(made::count(text, R"("cat": "Comm")"), 18U);
  EXPECT_THAT(text, HasSubstr(R"("displayTimeUnit": "ms")"));
}

TEST(Byteps, TheSinkWritesTheFileOfItsLocalRank) {
  const std::string folder = testing::TempDir() + "byteps_sink";
  const Trace trace = of_one_worker();
  {
    Result<std::unique_ptr<Sink>> sink = byteps_sink(folder, 3, {.first = 2, .last = 3});
    ASSERT_TRUE(sink.ok()) << sink.status().text();
    TraceRing ring(1 << 12);
    for (const TraceRecord& record : trace.nodes.front().records) ring.put({record});
    Recorder recorder(ring, std::move(*sink));
    recorder.name(1, "first");
    recorder.finish();
  }
  std::ostringstream text;
  text << std::ifstream(folder + "/3/comm.json").rdbuf();
  EXPECT_EQ(made::count(text.str(), "Comm.byteps.first.PUSH"), 2U);
  EXPECT_EQ(made::count(text.str(), "Comm.byteps.first.PULL"), 2U);
}

}  // namespace
}  // namespace stretto::trace
