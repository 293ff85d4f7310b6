// SPDX-License-Identifier: Apache-2.0
// What a program reports, and what is left of it.
#include "worker/monitoring/user_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(UserMetricsTest, AHeartbeatTakesTheLatestOfEachName) {
  UserMetrics reports;
  EXPECT_TRUE(reports.set("loss", 0.5).ok());
  EXPECT_TRUE(reports.set("loss", 0.25).ok());
  EXPECT_TRUE(reports.set("accuracy", 0.9).ok());
  EXPECT_THAT(reports.take(), ElementsAre(Pair("accuracy", 0.9), Pair("loss", 0.25)));
  EXPECT_THAT(reports.take(), IsEmpty());
  EXPECT_TRUE(reports.set("loss", 0.125).ok());
  EXPECT_THAT(reports.take(), ElementsAre(Pair("loss", 0.125)));
  EXPECT_THAT(reports.all(), ElementsAre(Pair("accuracy", 0.9), Pair("loss", 0.125)));
}

TEST(UserMetricsTest, InvalidMetricsAreRefusedWithReason) {
  UserMetrics reports;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(reports.set("loss", value).cause(), HasSubstr("only finite numbers"));
  }
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_EQ(reports.set(name, 1).code(), Code::kInvalidArgument) << name;
  }
  EXPECT_TRUE(reports.set(std::string(64, 'x'), 1).ok());
  EXPECT_TRUE(reports.set("Verlust \xc3\xbc", -1e300).ok());
}

TEST(UserMetricsTest, NamesAreBounded) {
  UserMetrics reports;
  for (std::size_t i = 0; i < kMostReportedNames; ++i) {
    EXPECT_TRUE(reports.set("name" + std::to_string(i), 1).ok());
  }
  EXPECT_EQ(reports.set("another", 1).code(), Code::kResource);
  EXPECT_TRUE(reports.set("name0", 2).ok()) << "those that are known go on";
  EXPECT_EQ(reports.take().size(), kMostReportedNames);
}

}  // namespace
}  // namespace stretto
