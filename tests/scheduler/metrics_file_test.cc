// SPDX-License-Identifier: Apache-2.0
// When the file is written, what is in it, and what happens where it cannot be.
#include "scheduler/metrics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class Idle final : public Agent {
 public:
  void step(Duration) override { ++steps; }
  Time next_due() const override { return Time::max(); }
  bool over() const override { return steps > 5; }
  int steps = 0;
};

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(MetricsFile, IsWrittenOnceASecondAsAWhole) {
  const std::string path = testing::TempDir() + "metrics_file_test.prom";
  sim::VirtualClock clock;
  Idle agent;
  int asked = 0;
  MetricsFile file(
      path, agent, [&asked] { return "asked " + std::to_string(++asked) + "\n"; }, clock);
  file.step(0ns);
  EXPECT_EQ(contents(path), "asked 1\n");
  file.step(0ns);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(file.next_due(), clock.now() + 1s);
  clock.advance_to(clock.now() + 1s);
  file.step(0ns);
  EXPECT_EQ(contents(path), "asked 2\n");
  EXPECT_EQ(agent.steps, 3);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  std::filesystem::remove(path);
}

TEST(MetricsFile, WithoutAPathOnlySteps) {
  sim::VirtualClock clock;
  Idle agent;
  MetricsFile file(
      "", agent, [] { return "never"; }, clock);
  for (int i = 0; i < 6; ++i) file.step(0ns);
  EXPECT_TRUE(file.over());
  EXPECT_EQ(file.next_due(), Time::max());
}

TEST(MetricsFile, ThatCannotBeWrittenIsNoReasonToEnd) {
  sim::VirtualClock clock;
  Idle agent;
  MetricsFile file(
      "/no/such/folder/x.prom", agent, [] { return "never"; }, clock);
  file.step(0ns);
  EXPECT_EQ(agent.steps, 1);
  EXPECT_THAT(file.write().cause(), HasSubstr("/no/such/folder/x.prom: No such file"));
}

}  // namespace
}  // namespace stretto
