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

TEST(TopTest, ShowsReportsBesideWorker) {
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

TEST(TopTest, ShowsLostInsteadOfLeft) {
  EXPECT_THAT(table("", R"(,"left":true)"), HasSubstr("has left"));
  EXPECT_THAT(table("", R"(,"left":true,"lost":true)"), HasSubstr("is lost"));
}

TEST(TopTest, ShowsStandby) {
  EXPECT_THAT(table("", R"(,"standby":true)"), HasSubstr("stands by"));
  EXPECT_THAT(table("", R"(,"standby":false)"), Not(HasSubstr("stands by")));
}

TEST(TopTest, SkipsInvalidFieldsAndRejectsMalformed) {
  EXPECT_THAT(table(R"("stall":{"s":1},)", R"(,"reports":[1],"input":3)"), HasSubstr("worker 0"));
  EXPECT_THAT(table("", R"(,"reports":{"a":"text"})"), Not(HasSubstr("text")));
  EXPECT_FALSE(table_from("[]", true).ok());
  EXPECT_FALSE(table_from("{", true).ok());
}

LineHead head() { return {.time_s = 1.5, .job = "train", .scheduler = "127.0.0.1:9"}; }

TEST(TopTest, LineHasDocumentedFields) {
  const std::string page =
      R"({"phase":"running","count":2,"stall":{"s":3,"role":"worker","rank":1,"phase":"p",)"
      R"("cause":"c","word":"w"},"nodes":[{"name":"worker 0","role":"worker","rank":0,"shard":0,)"
      R"("rounds":7,"behind":1,"staleness":2,"rounds_per_s":0.5,"in_per_s":3,"out_per_s":4,)"
      R"("waiting":5,"in_flight":6,"held_share":0.25,"silence_s":0.1,"reports":{"loss":0.5},)"
      R"("input":{"per_s":1,"share":0.5,"stall_share":0,"limit":8,"word":"slow"}}]})";
  const std::string more = R"({"nodes":[{"name":"server 0","role":"server","standby":true}]})";
  const Result<std::string> line = line_from({page, more}, head());
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(*line,
            R"({"time":1.5,"job":"train","scheduler":"127.0.0.1:9","phase":"running",)"
            R"("standstill":{"seconds":3,"role":"worker","rank":1,"phase":"p","cause":"c",)"
            R"("text":"w"},"nodes":[{"node":"worker 0","role":"worker","rank":0,"shard":0,)"
            R"("state":"in","rounds":7,"behind":1,"staleness":2,"rounds_per_s":0.5,)"
            R"("bytes_in_per_s":3,"bytes_out_per_s":4,"frames_waiting":5,"bytes_in_flight":6,)"
            R"("held_share":0.25,"silence_s":0.1,"reports":{"loss":0.5},)"
            R"("input":{"bytes_per_s":1,"share":0.5,"stall_share":0,"limit_bytes":8,)"
            R"("remark":"slow"}},{"node":"server 0","role":"server","rank":0,"shard":0,)"
            R"("state":"standby","rounds":0,"behind":0,"staleness":0,"rounds_per_s":0,)"
            R"("bytes_in_per_s":0,"bytes_out_per_s":0,"frames_waiting":0,"bytes_in_flight":0,)"
            R"("held_share":0,"silence_s":0,"reports":{},"input":null}]})"
            "\n");
}

TEST(TopTest, LineOfNonsenseIsRefused) {
  EXPECT_FALSE(line_from({"[]"}, head()).ok());
  EXPECT_FALSE(line_from({"{"}, head()).ok());
  EXPECT_THAT(*line_from({R"({"nodes":[7,{"rounds":"x","reports":1}]})"}, head()),
              HasSubstr(R"("phase":"","standstill":null,"nodes":[{"node":"",)"));
}

}  // namespace
}  // namespace stretto::observe
