// SPDX-License-Identifier: Apache-2.0
// The pure parts of `stretto-bench preempt`: its flags, the links and shapers of a lab, and how a
// rate is computed from arrivals.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/bench/limits/preempt_load.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/lab_plan.h"
#include "tools/bench/support/run_command.h"

namespace stretto::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

Result<Settings> preempt_settings(const std::vector<std::string>& words) {
  return read_settings(Benchmark::kPreempt, words);
}

std::vector<std::string> lines_of(const LabPlan& plan) {
  std::vector<std::string> lines;
  for (const Command& command : plan.commands) {
    lines.push_back(fmt::format("{}", fmt::join(command, " ")));
  }
  return lines;
}

std::vector<std::string> shapers_of(const LabPlan& plan) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of(plan)) {
    if (line.starts_with("tc ")) found.push_back(line.substr(0, line.find(" root")));
  }
  return found;
}

// ---- flags

TEST(PreemptFlags, ParsesMeasurementSettings) {
  const auto settings = preempt_settings({"--rate_mbit", "400", "--peers=3", "--bottleneck",
                                          "router", "--mode", "fifo,preempt", "--background-bytes",
                                          "8M", "--part_bytes", "64K", "--urgent_bytes", "100",
                                          "--json", "--seconds", "0.5", "--background", "plain"});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  const PreemptSettings& preempt = settings->preempt;
  EXPECT_EQ(preempt.lab.rate_mbit, 400U);
  EXPECT_EQ(preempt.lab.peers, 3U);
  EXPECT_EQ(preempt.lab.bottleneck, Bottleneck::kRouter);
  EXPECT_THAT(preempt.modes, ElementsAre(Preemption::kFifo, Preemption::kPreempt));
  EXPECT_THAT(preempt.backgrounds, ElementsAre(Background::kPlain));
  EXPECT_EQ(preempt.background_bytes, 8U << 20);
  EXPECT_EQ(preempt.part_bytes, 64U << 10);
  EXPECT_EQ(preempt.urgent_bytes, 100U);
  EXPECT_TRUE(settings->json);
  EXPECT_EQ(settings->seconds, 0.5);
  const auto in = preempt_settings({"--direction", "in", "--urgent_peer", "idle", "--peers", "4"});
  ASSERT_TRUE(in.ok()) << in.status().text();
  EXPECT_EQ(in->preempt.direction, Direction::kIn);
  EXPECT_FALSE(in->preempt.urgent_peer_is_busy);
}

TEST(PreemptFlags, ByDefaultStrettoAsItIs) {
  const auto settings = preempt_settings({});
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_THAT(settings->preempt.modes, ElementsAre(Preemption::kPreempt));
  EXPECT_EQ(settings->preempt.background_bytes, 64U << 20);
  EXPECT_EQ(settings->preempt.urgent_bytes, 4096U);
}

// Training declares bulk, so that is measured first; then undeclared traffic.
TEST(PreemptFlags, ByDefaultBesideBulkAndBesidePlain) {
  const auto names = [](const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const PreemptCase& way : cases_of(preempt_settings(words)->preempt)) {
      found.push_back(fmt::format("{} {}", name_of(way.mode), name_of(way.background)));
    }
    return found;
  };
  EXPECT_THAT(names({}), ElementsAre("preempt bulk", "preempt plain"));
  EXPECT_THAT(names({"--background", "bulk"}), ElementsAre("preempt bulk"));
  EXPECT_THAT(names({"--mode", "fifo,preempt,priority", "--background", "plain,bulk"}),
              ElementsAre("fifo plain", "preempt plain", "preempt bulk", "priority plain"));
}

TEST(PreemptFlags, ProcessesDivideTheirHostsWindowAsAsked) {
  const auto names = [](const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const PreemptCase& way : cases_of(preempt_settings(words)->preempt)) {
      found.push_back(
          fmt::format("{} {} {}", name_of(way.background), way.processes, name_of(way.policy)));
    }
    return found;
  };
  EXPECT_THAT(names({"--background", "bulk"}), ElementsAre("bulk 1 urgent"));
  EXPECT_THAT(names({"--background", "bulk", "--processes", "1,2", "--host_window", "none,fair"}),
              ElementsAre("bulk 1 none", "bulk 1 fair", "bulk 2 none", "bulk 2 fair"));
  EXPECT_THAT(names({"--mode", "fifo", "--processes", "2"}), ElementsAre("plain 1 none"));
}

TEST(PreemptFlags, NamesInvalidFlagOrValue) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--mode", "lifo"}, "--mode is 'lifo', wanted fifo, priority or preempt"},
      {{"--mode", "fifo,"}, "--mode is 'fifo,', wanted fifo, priority or preempt"},
      {{"--background", "bulk,"},
       "--background is 'bulk,', wanted bulk or plain, or several with commas between"},
      {{"--bottleneck", "switch"}, "--bottleneck is 'switch', wanted host or router"},
      {{"--rate_mbit", "0"}, "--rate_mbit is '0', wanted a whole number from 1"},
      {{"--peers", "65"}, "--peers is '65', wanted a whole number from 1 to 64"},
      {{"--processes", "3"}, "--processes is '3', wanted a whole number from 1 to 2"},
      {{"--host_window", "all"}, "--host_window is 'all', wanted none, fair or urgent"},
      {{"--workers", "2"}, "unknown flag --workers"},
      {{"--direction", "up"}, "--direction is 'up', wanted out, in or both"},
      {{"--urgent_peer", "idle"}, "wanted --direction in or both, and --peers 2 or more"},
      {{"--direction", "in", "--processes", "2"}, "--processes is 2, wanted --direction out"},
      {{"--background_bytes", "128K"}, "wanted at least one part of 262144 bytes"}};
  for (const auto& [words, cause] : cases) {
    const auto settings = preempt_settings(words);
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(settings.status().cause(), HasSubstr(cause));
  }
  EXPECT_FALSE(preempt_settings({"--transport", "shm"}).ok()) << "hosts share no memory";
  EXPECT_TRUE(preempt_settings({"--transport", "fabric"})->preempt.transport ==
              TransportChoice::kFabric);
}

TEST(PreemptFlags, ModesHaveTheNamesThatTheyAreAskedBy) {
  for (const std::string name : {"fifo", "priority", "preempt"}) {
    EXPECT_EQ(name_of(preempt_settings({"--mode", name})->preempt.modes.front()), name);
  }
}

// ---- the lab

TEST(LabPlan, OneReceiverIsAtTheOtherEndOfTheShapedLink) {
  const LabPlan plan = plan_lab({.rate_mbit = 1000}, 77);
  EXPECT_THAT(plan.namespaces, ElementsAre("stretto-77-a", "stretto-77-b0"));
  EXPECT_THAT(
      lines_of(plan),
      ElementsAre("ip link add name eth0 netns stretto-77-a type veth peer name eth0 netns "
                  "stretto-77-b0",
                  "ip -n stretto-77-a link set dev eth0 up",
                  "ip -n stretto-77-b0 link set dev eth0 up",
                  "tc -n stretto-77-a qdisc add dev eth0 root tbf rate 1000mbit burst 131072 "
                  "limit 4000000",
                  "tc -n stretto-77-b0 qdisc add dev eth0 root tbf rate 1000mbit burst 131072 "
                  "limit 4000000",
                  "ip -n stretto-77-a link set dev lo up",
                  "ip -n stretto-77-a addr add 10.77.0.1/24 dev eth0",
                  "ip -n stretto-77-a route replace 10.77.0.0/24 dev eth0 src 10.77.0.1 congctl "
                  "cubic",
                  "ip -n stretto-77-b0 link set dev lo up",
                  "ip -n stretto-77-b0 addr add 10.77.0.2/24 dev eth0",
                  "ip -n stretto-77-b0 route replace 10.77.0.0/24 dev eth0 src 10.77.0.2 congctl "
                  "cubic"));
  EXPECT_EQ(plan.sender.network, "stretto-77-a");
  EXPECT_EQ(plan.sender.address, "10.77.0.1");
  ASSERT_EQ(plan.receivers.size(), 1U);
  EXPECT_EQ(plan.receivers[0].address, "10.77.0.2");
}

TEST(LabPlan, SeveralReceiversShareTheSendersLink) {
  const LabPlan plan = plan_lab({.peers = 3}, 77);
  EXPECT_THAT(plan.namespaces, ElementsAre("stretto-77-a", "stretto-77-s", "stretto-77-b0",
                                           "stretto-77-b1", "stretto-77-b2"));
  EXPECT_THAT(shapers_of(plan), ElementsAre("tc -n stretto-77-a qdisc add dev eth0",
                                            "tc -n stretto-77-s qdisc add dev port0"));
  EXPECT_EQ(plan.receivers.size(), 3U);
}

TEST(LabPlan, ARoutersQueueIsNotTheSenders) {
  const LabPlan one = plan_lab({.bottleneck = Bottleneck::kRouter}, 77);
  EXPECT_THAT(shapers_of(one), ElementsAre("tc -n stretto-77-r qdisc add dev port1",
                                           "tc -n stretto-77-b0 qdisc add dev eth0"));
  const LabPlan two = plan_lab({.peers = 2, .bottleneck = Bottleneck::kRouter}, 77);
  EXPECT_THAT(shapers_of(two), ElementsAre("tc -n stretto-77-r qdisc add dev port1",
                                           "tc -n stretto-77-s qdisc add dev port0"));
  EXPECT_THAT(lines_of(two),
              IsSupersetOf({"ip -n stretto-77-r link set dev port0 master bridge0",
                            "ip -n stretto-77-s link set dev port2 master bridge0"}));
}

TEST(LabPlan, BurstAndQueueFollowTheRateWithinBounds) {
  const auto shaper = [](std::uint64_t rate, Bottleneck where) {
    return shaper_for({.rate_mbit = rate, .bottleneck = where});
  };
  EXPECT_EQ(shaper(1000, Bottleneck::kHost).burst_bytes, 128U << 10);
  EXPECT_EQ(shaper(1500, Bottleneck::kHost).burst_bytes, 192U << 10);
  EXPECT_EQ(shaper(10'000, Bottleneck::kHost).burst_bytes, 256U << 10);
  EXPECT_EQ(shaper(10, Bottleneck::kHost).burst_bytes, 72U << 10);
  EXPECT_EQ(shaper(500, Bottleneck::kHost).limit_bytes, 2'000'000U);
  EXPECT_EQ(shaper(10, Bottleneck::kHost).limit_bytes, 256'000U);
  EXPECT_EQ(shaper(100, Bottleneck::kRouter).limit_bytes, 1'000'000U);
  EXPECT_EQ(shaper(10'000, Bottleneck::kRouter).limit_bytes, 1'000'000U);
}

TEST(LabPlan, NamespaceNameYieldsOwnerProcess) {
  for (const std::string& name :
       plan_lab({.peers = 2, .bottleneck = Bottleneck::kRouter}, 4711).namespaces) {
    EXPECT_EQ(owner_of(name), 4711) << name;
  }
  for (const char* name : {"", "stretto-", "stretto-x-a", "stretto-12", "stretto--1-a", "blue"}) {
    EXPECT_FALSE(owner_of(name)) << name;
  }
}

// ---- measuring

TEST(RateMeter, CountsFromTheFirstArrivalToTheLast) {
  RateMeter meter;
  const Time start{100s};
  meter.start(500);
  EXPECT_EQ(meter.gb_per_s(), 0);
  meter.note(start + 1s, 500);  // Nothing has arrived.
  meter.note(start + 2s, 1'000'000'500);
  EXPECT_EQ(meter.arrivals(), 1U);
  EXPECT_EQ(meter.gb_per_s(), 0);
  meter.note(start + 4s, 2'000'000'500);
  meter.note(start + 6s, 5'000'000'500);
  meter.note(start + 9s, 5'000'000'500);
  EXPECT_EQ(meter.arrivals(), 3U);
  EXPECT_DOUBLE_EQ(meter.gb_per_s(), 1);
  meter.start(5'000'000'500);
  EXPECT_EQ(meter.arrivals(), 0U);
}

TEST(RunCommand, ErrorNamesCommandAndItsOutput) {
  EXPECT_TRUE(run_command(Command{"true"}).ok());
  const Status failed = run_command(Command{"sh", "-c", "echo oh no >&2; exit 3"});
  EXPECT_EQ(failed.code(), Code::kNetwork);
  EXPECT_EQ(failed.cause(), "`sh -c echo oh no >&2; exit 3` failed: oh no");
  const Status missing = run_command(Command{"no-such-program"});
  EXPECT_EQ(missing.code(), Code::kUnsupported);
  EXPECT_EQ(missing.cause(), "wanted the program no-such-program, found none in PATH");
}

}  // namespace
}  // namespace stretto::bench
