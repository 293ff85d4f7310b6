// SPDX-License-Identifier: Apache-2.0
// An analysis as text and as JSON, and the times from which an order is computed.
#include "observe/trace/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/observe/trace/made_trace.h"

namespace stretto::trace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Report, NamesAwaitedNodeAndCause) {
  const Trace trace = made::make({.where = made::Where::kCompute, .who = 2});
  const Analysis analysis = analyse(trace);
  EXPECT_THAT(report_text(trace, analysis), HasSubstr("waited for computing of worker 2"));
  const std::string json = report_json(trace, analysis);
  EXPECT_THAT(json, HasSubstr(R"("cause":"compute")"));
  EXPECT_THAT(json, HasSubstr(R"("culprit":"worker 2")"));
  EXPECT_THAT(json, HasSubstr(R"("order_violations":0)"));
}

TEST(Report, NamesBothEndsOfASlowLink) {
  const Trace trace = made::make({.where = made::Where::kOneLink, .who = 1});
  const Analysis analysis = analyse(trace);
  EXPECT_THAT(report_text(trace, analysis), HasSubstr("link between worker 1 and server 0"));
  EXPECT_THAT(report_json(trace, analysis), HasSubstr(R"("culprit":"worker 1 and server 0")"));
}

TEST(Report, EmptyTraceReportsNoFullIteration) {
  EXPECT_THAT(report_text({}, analyse({})), HasSubstr("no whole iteration"));
  EXPECT_THAT(report_json({}, analyse({})), HasSubstr(R"("iterations":[])"));
}

// A synthetic trace that continues for some time after its last frame. It lacks each record of the
// last round for which `lost` returns true, by the node's place and the record.
template <typename Lost>
Trace standing(const made::Plan& plan, const Lost& lost) {
  Trace trace = made::make(plan);
  std::int64_t end = 0;
  for (std::size_t place = 0; place < trace.nodes.size(); ++place) {
    std::erase_if(trace.nodes[place].records, [&](const TraceRecord& record) {
      return record.round == plan.iterations && lost(place, record);
    });
    for (const TraceRecord& record : trace.nodes[place].records) {
      if (record.frame != 0) end = std::max(end, record.end_ns);
    }
  }
  for (Node& node : trace.nodes) {
    TraceRecord traced;
    traced.kind = TraceKind::kTraced;
    traced.begin_ns = 0;
    traced.end_ns = end + 5'200'000'000;
    node.records.push_back(traced);
  }
  return trace;
}

std::string verdict(const Trace& trace) {
  const std::string text = report_text(trace, analyse(trace));
  return text.substr(0, text.find('\n'));
}

constexpr made::Plan kStanding{.workers = 3, .servers = 1, .tensors = 3};
constexpr std::size_t kServer = 0;

TEST(Report, StandstillNamesMissingPush) {
  const Trace trace = standing(kStanding, [](std::size_t place, const TraceRecord& record) {
    const bool of_second = place == 2 || (place == kServer && record.peer == 4);
    return record.frame == kValueFrame || of_second;
  });
  EXPECT_THAT(verdict(trace), StartsWith("for the last 5.2 s nothing moved: 3 tensors at server 0 "
                                         "wait for the push of worker 1; before that, mostly"));
  EXPECT_THAT(report_json(trace, analyse(trace)), HasSubstr(R"("standstill_ms":5200.0)"));
}

TEST(Report, StandstillNamesStageInFlight) {
  const auto no_sum = [](std::size_t place, const TraceRecord& record) {
    return record.frame == kValueFrame || place == kServer;
  };
  EXPECT_THAT(verdict(standing(kStanding, no_sum)),
              HasSubstr("the push of 3 tensors by workers 0, 1 and 2 has not reached server 0"));
  const auto no_value = [](std::size_t, const TraceRecord& record) {
    return record.frame == kValueFrame;
  };
  EXPECT_THAT(
      verdict(standing(kStanding, no_value)),
      HasSubstr("server 0 has sent workers 0, 1 and 2 no value of 3 tensors that all have pushed"));
  const auto lost = [](std::size_t place, const TraceRecord& record) {
    return record.frame == kValueFrame && place == 3;
  };
  EXPECT_THAT(verdict(standing(kStanding, lost)),
              HasSubstr("the value of 3 tensors by server 0 has not reached worker 2"));
  const auto nothing = [](std::size_t, const TraceRecord&) { return false; };
  EXPECT_THAT(verdict(standing(kStanding, nothing)), HasSubstr("no push waits for an answer"));
}

TEST(Report, ATraceInWhichNothingMovesSaysSo) {
  made::Plan plan = kStanding;
  plan.iterations = 0;
  EXPECT_THAT(verdict(standing(plan, [](std::size_t, const TraceRecord&) { return false; })),
              StartsWith("none of 4 nodes pushed or answered anything in 5.2 s"));
}

TEST(Report, AJobThatGoesOnStandsNotStill) {
  EXPECT_THAT(verdict(made::make(kStanding)), StartsWith("mostly waited for"));
}

TEST(Report, MeasuredTimesAreTheLeastOfEachPart) {
  const made::Plan plan{.workers = 1, .servers = 1, .tensors = 2};
  const std::vector<Measured> measured = measured_of(made::make(plan));
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[0].tensor, "layer1");  // The first one awaited.
  for (const Measured& one : measured) {
    EXPECT_GE(one.transfer_ns, 2 * plan.link_ns);
    EXPECT_LE(one.transfer_ns, 4 * plan.link_ns);
    EXPECT_EQ(one.bytes, 65'536U);
  }
  EXPECT_GE(measured[0].compute_ns, plan.compute_ns);
  EXPECT_LE(measured[0].least_compute_ns, measured[0].compute_ns);
  EXPECT_THAT(measured_json(measured), HasSubstr(R"("name": "layer2")"));
}

}  // namespace
}  // namespace stretto::trace
