// SPDX-License-Identifier: Apache-2.0
// The table of stretto-top, from a scheduler's snapshot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/trace/top.h"

namespace stretto::observe {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string table(const std::string& more, const std::string& node) {
  const Result<std::string> made =
      table_from(R"({"phase":"running","count":1,)" + more +
                     R"("nodes":[{"name":"worker 0","role":"worker","rounds":7)" + node + "}]}",
                 true);
  return made.ok() ? *made : made.status().cause();
}

TEST(TopTest, AStandstillComesFirst) {
  EXPECT_THAT(table(R"("stall":{"s":12.3,"word":"worker 1 has not pushed 'a', round 7"},)", ""),
              HasSubstr("STANDSTILL for 12 s: worker 1 has not pushed 'a', round 7\nnode"));
  EXPECT_THAT(table(R"("stall":null,)", ""), StartsWith("job is running, 1 nodes\nnode"));
}

TEST(TopTest, WhatProgramsReportStandsBesideThem) {
  EXPECT_THAT(table("", R"(,"reports":{"acc":0.9,"loss":0.31234567})"),
              HasSubstr("acc 0.9, loss 0.3123\n"));
  EXPECT_THAT(table("", R"(,"reports":{"loss":0.5},"held_share":0.5)"),
              HasSubstr("loss 0.5; others wait for it 50 % of the time"));
  EXPECT_THAT(table("", R"(,"reports":{"a":1,"b":1,"c":1,"d":1,"e":1})"), Not(HasSubstr("e 1")));
}

TEST(TopTest, HowTensorsGoIsALineForEachPlan) {
  EXPECT_THAT(table(R"("exchange":[{"plan":"ring","tensors":3,"bytes":7e6,"why":"ring: 1.2 ms"},
                                   {"plan":"direct","tensors":1,"bytes":400,"why":""}],)",
                    ""),
              HasSubstr("exchange auto: 3 tensor(s), 7 MB a round, go by ring: 1.2 ms\n"
                        "exchange auto: 1 tensor(s), 0.0004 MB a round, go by direct\nnode"));
  EXPECT_THAT(table(R"("exchange":[7,{"plan":7}],)", ""), Not(HasSubstr("exchange")));
}

TEST(TopTest, WhoIsLostHasNotLeft) {
  EXPECT_THAT(table("", R"(,"left":true)"), HasSubstr("has left"));
  EXPECT_THAT(table("", R"(,"left":true,"lost":true)"), HasSubstr("is lost"));
}

TEST(TopTest, WhoStandsByIsTold) {
  EXPECT_THAT(table("", R"(,"standby":true)"), HasSubstr("stands by"));
  EXPECT_THAT(table("", R"(,"standby":false)"), Not(HasSubstr("stands by")));
}

TEST(TopTest, WhatMakesNoSenseIsLeftOutOrRefused) {
  EXPECT_THAT(table(R"("stall":{"s":1},)", R"(,"reports":[1],"input":3)"), HasSubstr("worker 0"));
  EXPECT_THAT(table("", R"(,"reports":{"a":"text"})"), Not(HasSubstr("text")));
  EXPECT_FALSE(table_from("[]", true).ok());
  EXPECT_FALSE(table_from("{", true).ok());
}

}  // namespace
}  // namespace stretto::observe
