// SPDX-License-Identifier: Apache-2.0
// The diary's two forms.
#include "input/tuning/tuning_log.h"

#include <gtest/gtest.h>

namespace stretto::input {
namespace {

Trial some_trial() {
  return {.at = Time() + 2s,
          .action = Action::kClimb,
          .knobs = {32, 256 * 1024},
          .windows = 3,
          .bytes_per_second = 812.3e6,
          .noise = 0.004,
          .mean_latency = 3ms,
          .p95_latency = 4100us,
          .stall = 0.5,
          .reason = "depth x 4: \"faster\""};
}

TEST(Trial, IsALineForPeople) {
  EXPECT_EQ(describe(some_trial()),
            "climb   q=32 b=256 KiB  812.3 MB/s +-0.4 %  p95 4.10 ms: depth x 4: \"faster\"");
}

TEST(Trial, IsARowForPlots) {
  std::vector<Trial> trials{some_trial(), some_trial()};
  trials[1].at += 500ms;
  EXPECT_EQ(to_csv(trials),
            "seconds,action,depth,read_bytes,windows,bytes_per_second,noise,mean_latency_s,"
            "p95_latency_s,stall,reason\n"
            "0.000000,climb,32,262144,3,8.123e+08,0.0040,0.003,0.0041,0.5000,"
            "\"depth x 4: \"\"faster\"\"\"\n"
            "0.500000,climb,32,262144,3,8.123e+08,0.0040,0.003,0.0041,0.5000,"
            "\"depth x 4: \"\"faster\"\"\"\n");
  EXPECT_EQ(to_csv({}).find('\n'), to_csv({}).size() - 1) << "names alone";
}

TEST(Trial, EveryActionHasAName) {
  for (const Action action : {Action::kFirst, Action::kClimb, Action::kShrink, Action::kExplore,
                              Action::kChoose, Action::kDrift, Action::kCap}) {
    EXPECT_NE(name_of(action), "unknown");
  }
}

}  // namespace
}  // namespace stretto::input
