// SPDX-License-Identifier: Apache-2.0
// An analysis in words and as JSON, and the times that an order is made of.
#include "trace/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/made_trace.h"

namespace stretto::trace {
namespace {

using testing::HasSubstr;

TEST(Report, NamesWhoIsWaitedForAndWhy) {
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

TEST(Report, AnEmptyTraceSaysWhatIsMissing) {
  EXPECT_THAT(report_text({}, analyse({})), HasSubstr("no whole iteration"));
  EXPECT_THAT(report_json({}, analyse({})), HasSubstr(R"("iterations":[])"));
}

TEST(Report, MeasuredTimesAreTheLeastOfEachPart) {
  const made::Plan plan{.workers = 1, .servers = 1, .tensors = 2};
  const std::vector<Measured> measured = measured_of(made::make(plan));
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[0].tensor, "layer1");  // The first that is waited for.
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
