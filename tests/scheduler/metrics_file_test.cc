// SPDX-License-Identifier: Apache-2.0
// When the file is written, its content, and the handling of write errors.
#include "scheduler/metrics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_network.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class Idle final : public LoopTask {
 public:
  void step(Duration) override { ++steps; }
  Time next_due() const override { return Time::max(); }
  bool over() const override { return steps > 5; }
  int steps = 0;
};

std::string contents(Disk& disk, const std::string& path) {
  std::string text(100, '\0');
  const std::unique_ptr<File> file = disk.open(path, Open::kRead).or_exit();
  text.resize(file->read(0, std::as_writable_bytes(std::span(text))).or_exit());
  return text;
}

TEST(MetricsFile, RewritesFileOncePerSecond) {
  sim::SimDisk disk(1);
  sim::VirtualClock clock;
  checkpoint::InlineDiskExecutor at_once;
  Idle agent;
  int asked = 0;
  MetricsFile file(
      "x.prom", disk, &at_once, agent,
      [&asked] { return "asked " + std::to_string(++asked) + "\n"; }, clock);
  file.step(0ns);
  EXPECT_EQ(contents(disk, "x.prom"), "asked 1\n");
  file.step(0ns);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(file.next_due(), clock.now() + 1s);
  clock.advance_to(clock.now() + 1s);
  file.step(0ns);
  EXPECT_EQ(contents(disk, "x.prom"), "asked 2\n");
  EXPECT_EQ(agent.steps, 3);
  EXPECT_EQ(disk.list(".", 9).or_exit().size(), 1U);
}

TEST(MetricsFile, WithoutAPathOnlySteps) {
  sim::SimDisk disk(1);
  sim::VirtualClock clock;
  Idle agent;
  MetricsFile file("", disk, nullptr, agent, [] { return "never"; }, clock);
  for (int i = 0; i < 6; ++i) file.step(0ns);
  EXPECT_TRUE(file.over());
  EXPECT_EQ(file.next_due(), Time::max());
}

TEST(MetricsFile, ThatCannotBeWrittenIsNoReasonToEnd) {
  sim::SimDisk disk(1, {.capacity_bytes = 6});
  sim::VirtualClock clock;
  checkpoint::InlineDiskExecutor at_once;
  Idle agent;
  std::string metrics = "first";
  MetricsFile file("x.prom", disk, &at_once, agent, [&metrics] { return metrics; }, clock);
  file.step(0ns);
  metrics = "2nd";
  clock.advance_to(clock.now() + 1s);
  file.step(0ns);
  EXPECT_EQ(agent.steps, 2);
  EXPECT_EQ(contents(disk, "x.prom"), "first");
  EXPECT_THAT(file.status().cause(),
              HasSubstr("(STRETTO_METRICS_FILE=x.prom): cannot write more than 1 of 3 bytes"));
}

// Keeps jobs until the test runs them, as a slow disk does.
class Later final : public checkpoint::DiskExecutor {
 public:
  void post(Job job) override { jobs.push_back(std::move(job)); }
  std::vector<Job> jobs;
};

TEST(MetricsFile, SlowDiskDelaysNoStep) {
  sim::SimDisk disk(1);
  sim::VirtualClock clock;
  Later later;
  Idle agent;
  int asked = 0;
  MetricsFile file(
      "x.prom", disk, &later, agent, [&asked] { return "asked " + std::to_string(++asked) + "\n"; },
      clock);
  for (int i = 0; i < 5; ++i) {
    file.step(0ns);
    clock.advance_to(clock.now() + 1s);
  }
  EXPECT_EQ(agent.steps, 5);
  EXPECT_GT(file.next_due(), clock.now()) << "a loop must not spin";
  ASSERT_EQ(later.jobs.size(), 1U) << "writes must not pile up";
  EXPECT_FALSE(disk.exists("x.prom").or_exit());
  later.jobs.front()();
  EXPECT_EQ(contents(disk, "x.prom"), "asked 1\n");
  file.step(0ns);
  ASSERT_EQ(later.jobs.size(), 2U);
  later.jobs.back()();
  EXPECT_EQ(contents(disk, "x.prom"), "asked 2\n");
}

}  // namespace
}  // namespace stretto
