// SPDX-License-Identifier: Apache-2.0
// Flags that users of other launchers look for.
#include <gtest/gtest.h>

#include "tools/launch/plan/arguments.h"
#include "tools/launch/plan/flags.h"

namespace stretto::launch {
namespace {

Plan plan_of_flags(const std::vector<std::string>& words) {
  const Result<Plan> plan = parse_arguments(words, nullptr);
  EXPECT_TRUE(plan.ok()) << plan.status().text();
  return plan.ok() ? *plan : Plan{};
}

std::string refused(const std::vector<std::string>& words) {
  return parse_arguments(words, nullptr).status().cause();
}

TEST(LaunchFlags, FlagsOfOtherLaunchersNameOurs) {
  EXPECT_EQ(refused({"--num-proc=2", "x"}),
            "unknown flag --num-proc; did you mean -n? --help lists all");
  EXPECT_EQ(refused({"--monitor-interval=2", "x"}),
            "--monitor-interval has no counterpart here: the launcher learns of each process's end "
            "at once; leave it out");
  EXPECT_EQ(nearest_flag("min-np"), "--workers MIN:MAX");
}

TEST(LaunchFlags, PageMetricsAndTraceAreVariables) {
  const Plan plan =
      plan_of_flags({"--page=8080", "--metrics", "0.0.0.0:9400", "--trace", "/t", "x"});
  EXPECT_EQ(plan.added_environment, (std::vector<std::pair<std::string, std::string>>{
                                        {"STRETTO_PAGE_ADDRESS", "8080"},
                                        {"STRETTO_METRICS_ADDRESS", "0.0.0.0:9400"},
                                        {"STRETTO_TRACE", "/t"}}));
  EXPECT_TRUE(plan_of_flags({"--trace=t", "x"}).added_environment[0].second.starts_with("/"));
  EXPECT_EQ(refused({"--page=here", "x"}),
            "--page is 'here', wanted HOST:PORT, or a port, which is 127.0.0.1's");
}

}  // namespace
}  // namespace stretto::launch
