// SPDX-License-Identifier: Apache-2.0
// The pure parts of `stretto-experiment replay`: its flags, how it scales a model down to the lab,
// which results it rejects, and the lab's links.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "common/config/config.h"
#include "experiments/replay/replay_plan.h"
#include "experiments/settings.h"
#include "tools/bench/support/lab_plan.h"
#include "tools/bench/support/pace.h"
#include "tools/bench/support/processes.h"

namespace stretto::bench::experiments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Settings> replay_settings(const std::vector<std::string>& words) {
  return read_settings(Experiment::kReplay, words);
}

Settings must(const std::vector<std::string>& words) {
  const Result<Settings> settings = replay_settings(words);
  EXPECT_TRUE(settings.ok()) << settings.status().text();
  return settings.ok() ? *settings : Settings();
}

Scheme scheme_named(const std::string& name) {
  return must({"--scheme", name}).replay.schemes.front();
}

std::vector<std::string> names_of(const std::vector<Scheme>& schemes) {
  std::vector<std::string> names;
  for (const Scheme& scheme : schemes) names.emplace_back(scheme.name);
  return names;
}

// ---- flags

TEST(ReplayFlags, ParsesMeasurementSettings) {
  const Settings settings = must({"--model",
                                  "vgg16",
                                  "--rate_mbit",
                                  "5000",
                                  "--lab-mbit=200",
                                  "--scale",
                                  "64",
                                  "--scheme",
                                  "wfbp,preempt",
                                  "--workers",
                                  "3",
                                  "--servers",
                                  "2",
                                  "--iterations",
                                  "40",
                                  "--warm_up",
                                  "7",
                                  "--repeats",
                                  "4",
                                  "--order",
                                  "tac",
                                  "--slice_bytes",
                                  "2M",
                                  "--compute_s",
                                  "0.5",
                                  "--delay_s",
                                  "0.002",
                                  "--seed",
                                  "9",
                                  "--late_layers",
                                  "4",
                                  "--json"});
  EXPECT_EQ(settings.replay.workers, 3U);
  EXPECT_EQ(settings.replay.servers, 2U);
  EXPECT_EQ(settings.replay.repeats, 4U);
  EXPECT_TRUE(settings.json);
  const ReplaySettings& replay = settings.replay;
  EXPECT_EQ(replay.model, "vgg16");
  EXPECT_EQ(replay.rate_mbit, 5000U);
  EXPECT_EQ(replay.lab_mbit, 200U);
  EXPECT_EQ(replay.scale, 64U);
  EXPECT_THAT(names_of(replay.schemes), ElementsAre("wfbp", "preempt"));
  EXPECT_EQ(replay.iterations, 40U);
  EXPECT_EQ(replay.warm_up, 7U);
  EXPECT_EQ(replay.order, "tac");
  EXPECT_EQ(replay.slice_bytes, 2U << 20);
  EXPECT_EQ(replay.compute_s, 0.5);
  EXPECT_EQ(replay.delay_s, 0.002);
  EXPECT_EQ(replay.seed, 9U);
  EXPECT_EQ(replay.late_layers, 4U);
}

TEST(ReplayFlags, ByDefaultOneWorkerAndAllSchemes) {
  const Settings settings = must({});
  EXPECT_EQ(settings.replay.workers, 1U);
  EXPECT_EQ(settings.replay.servers, 1U);
  EXPECT_EQ(settings.replay.schemes.size(), all_schemes().size());
  EXPECT_EQ(must({"--scheme", "all"}).replay.schemes.size(), all_schemes().size());
}

TEST(ReplayFlags, ALadderIsAllOfItsRungsAndForSeveralWorkers) {
  const Settings settings = must({"--scheme", "ladder", "--workers", "2"});
  EXPECT_EQ(names_of(settings.replay.schemes),
            names_of({ladder_schemes().begin(), ladder_schemes().end()}));
  EXPECT_THAT(names_of(must({"--scheme", "wfbp,ring", "--workers", "2"}).replay.schemes),
              ElementsAre("wfbp", "ring"));
}

TEST(ReplayFlags, ErrorNamesInvalidSetting) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--model", "gpt"}, "--model is 'gpt', there is no model 'gpt'; there are alexnet"},
      {{"--scheme", "fastest"}, "--scheme is 'fastest', wanted serial, wfbp, slice"},
      {{"--scheme", "wfbp,"}, "--scheme is 'wfbp,', wanted serial"},
      {{"--order", "backwards"}, "--order is 'backwards', wanted registration, arrival, layer"},
      {{"--order", "file:"}, "--order is 'file:', wanted registration"},
      {{"--rate_mbit", "0"}, "--rate_mbit is '0', wanted a whole number from 1"},
      {{"--scale", "1/8"}, "--scale is '1/8', wanted a whole number from 1"},
      {{"--workers", "33"}, "--workers is '33', wanted a whole number from 1 to 32"},
      {{"--compute_s", "-1"}, "--compute_s is '-1', wanted seconds from"},
      {{"--bytes", "4"}, "unknown flag --bytes"},
      {{"--delay_s", "11"}, "--delay_s is '11', wanted seconds from"},
      {{"--scheme", "ring"},
       "ring is an exchange among workers, and --workers is 1: wanted 2 or more"},
      {{"--model", "vgg16", "--scale", "24"},
       "sends whole tensors, and the largest of vgg16 has 17126740 bytes at --scale 24; a part has "
       "at most 16777216: wanted --scale 25 or more"}};
  for (const auto& [words, cause] : cases) {
    const auto settings = replay_settings(words);
    EXPECT_EQ(settings.status().code(), Code::kInvalidArgument) << cause;
    EXPECT_THAT(settings.status().cause(), HasSubstr(cause));
  }
  EXPECT_TRUE(replay_settings({"--model", "vgg16", "--scale", "1", "--scheme", "preempt"}).ok())
      << "what is sent in parts may be of any size";
}

// ---- schemes

std::vector<Scheme> every_scheme() {
  std::vector<Scheme> schemes{all_schemes().begin(), all_schemes().end()};
  schemes.insert(schemes.end(), ladder_schemes().begin(), ladder_schemes().end());
  return schemes;
}

TEST(Schemes, HaveNamesOfTheirOwnAndOrdersThatThereAre) {
  std::set<std::string_view> names;
  const Model model = *find_model("alexnet");
  for (const Scheme& scheme : every_scheme()) {
    EXPECT_TRUE(names.insert(scheme.name).second) << scheme.name;
    const auto order = make_order(std::string(scheme.order), {}, model, 1e9, 1);
    ASSERT_TRUE(order.ok()) << scheme.name;
    EXPECT_EQ((*order)->name(), scheme.order);
  }
}

// The roles must be able to read every variable that a scheme sets.
TEST(Schemes, AreVariablesThatTheRolesRead) {
  ReplaySettings settings;
  settings.scale = 16;
  for (const Scheme& scheme : every_scheme()) {
    std::map<std::string, std::string> given;
    for (const auto& [name, value] : variables_of(settings, scheme)) given[name] = value;
    const auto config = config_from(overlay(given, [](const std::string&) { return std::nullopt; }),
                                    Role::kScheduler);
    ASSERT_TRUE(config.ok()) << config.status().text();
    EXPECT_EQ(config->whole_frames, scheme.whole_frames) << scheme.name;
    EXPECT_EQ(config->job.part_bytes, scheme.whole_tensors ? 16U << 20 : 62'464U) << scheme.name;
    if (scheme.window_bytes != 0) {
      EXPECT_EQ(config->job.link_window_bytes, scheme.window_bytes);
    } else if (scheme.whole_frames) {
      EXPECT_GT(config->job.link_window_bytes, std::uint64_t{1} << 36) << "wanted no bound";
    }
  }
}

// Whole frames have no slices; all Stretto schemes but one declare bulk as the bindings do.
TEST(Schemes, DeclareBulkAsTheBindingsDo) {
  for (const Scheme& scheme : every_scheme()) {
    EXPECT_EQ(scheme.bulk, !scheme.whole_frames && scheme.name != "preempt-plain") << scheme.name;
  }
}

TEST(Schemes, PartsAreNeverTooSmallToBeWorthTheirHeader) {
  ReplaySettings settings;
  settings.scale = 1 << 20;
  EXPECT_EQ(part_bytes_of(settings, scheme_named("slice")), 1024U);
}

// ---- arithmetic

TEST(ReplayPlan, TheRatioOfComputingAndTransferStays) {
  const Model model = *find_model("vgg16");
  ReplaySettings settings;
  settings.model = "vgg16";
  settings.rate_mbit = 10'000;
  settings.lab_mbit = 400;
  settings.scale = 32;
  const double original_compute = 0.2339 + 0.4386;
  const double original_transfer = 8.0 * 553'430'176 / 1e10;
  const Load load = load_of(settings, model, {.bytes_per_second = 50e6});
  EXPECT_NEAR(load.one_way_s / load.compute_s, original_transfer / original_compute, 1e-4);
  EXPECT_NEAR(load.compute_s * original_seconds(settings), original_compute, 1e-9);
}

TEST(ReplayPlan, TimesMayBeGiven) {
  const Model model = *find_model("resnet50");
  ReplaySettings settings;
  settings.rate_mbit = settings.lab_mbit = 1000;
  settings.scale = 10;
  settings.compute_s = 5;
  const Compute compute = compute_of(settings, model);
  EXPECT_NEAR(compute.total_s(), 0.5, 1e-9);
  EXPECT_NEAR(compute.forward_s / compute.backward_s, 0.1825 / 0.2609, 1e-9);
}

TEST(ReplayPlan, ComputeTimeDefaultsToTransferTime) {
  const Model model = *find_model("bert_base");
  ReplaySettings settings;
  settings.rate_mbit = settings.lab_mbit = 1000;
  settings.scale = 1;
  const Compute compute = compute_of(settings, model);
  EXPECT_NEAR(compute.total_s(), 8.0 * 4 * 109'482'240 / 1e9, 1e-9);
  EXPECT_NEAR(compute.backward_s, 2 * compute.forward_s, 1e-9);
}

TEST(Orders, ThatCannotBeReadAreAnError) {
  const auto order = make_order("file:no/such/file", {}, *find_model("alexnet"), 1, 1);
  EXPECT_THAT(order.status().cause(), HasSubstr("cannot read no/such/file"));
}

TEST(ReplayPlan, ScaledTensorsKeepAnElement) {
  EXPECT_EQ(scaled_elements(64, 32), 2U);
  EXPECT_EQ(scaled_elements(31, 32), 1U);
  EXPECT_EQ(scaled_elements(95, 32), 2U);
}

TEST(ReplayPlan, FewerServersThanWorkersAreTheBottleneck) {
  EXPECT_DOUBLE_EQ(one_way_s(1000, 100, 1, 1), 10);
  EXPECT_DOUBLE_EQ(one_way_s(1000, 100, 4, 2), 20);
  EXPECT_DOUBLE_EQ(one_way_s(1000, 100, 2, 4), 10);
}

// T* for equal links: each link carries 2 (P - 1) / P of the bytes in each direction.
TEST(ReplayPlan, AmongWorkersThereIsOneWay) {
  EXPECT_DOUBLE_EQ(one_way_among_s(1000, 100, 4), 15);
  EXPECT_DOUBLE_EQ(one_way_among_s(1000, 100, 2), 10);
  const Model model = *find_model("alexnet");
  const Links links{.bytes_per_second = 50e6, .workers = 4};
  const Load load = load_of({}, model, links, Exchange::kRing);
  EXPECT_DOUBLE_EQ(load.one_way_s, one_way_among_s(scaled_bytes(model, 16), 50e6, 4));
  EXPECT_DOUBLE_EQ(load.serial_s(), load.compute_s + load.one_way_s);
  EXPECT_DOUBLE_EQ(overlap(load, load.bound_s()), 1);
}

TEST(ReplayPlan, ABusyProcessorMakesAFigureNotCount) {
  EXPECT_EQ(refusal(0.5, 0.0001, 1), "");
  EXPECT_EQ(refusal(kMostCpu, 0.02, 2), "");
  EXPECT_EQ(refusal(0.97, 0, 1), "refused: 97 % of the processors were busy, not only the links");
  EXPECT_EQ(refusal(0.5, 0.0123, 1),
            "refused: one sleep in a hundred ended 12.3 ms late or more, so processes waited for "
            "processors");
}

TEST(ReplayPlan, QuartilesApart) {
  EXPECT_EQ(interquartile_range({4, 1, 3, 2}), 2);
  EXPECT_EQ(interquartile_range({7}), 0);
}

TEST(Overlap, LiesBetweenSerialAndTheBound) {
  const Load load{.compute_s = 2, .one_way_s = 1};
  EXPECT_EQ(load.serial_s(), 4);
  EXPECT_EQ(load.bound_s(), 2);
  EXPECT_EQ(efficiency(load, 4), 0);
  EXPECT_EQ(efficiency(load, 2), 1);
  EXPECT_EQ(efficiency(load, 5), -0.5);
  EXPECT_EQ(overlap(load, 4), 0);
  EXPECT_EQ(overlap(load, 3), 0.5);
  EXPECT_EQ(overlap(load, 2), 1);
  const Load even{.compute_s = 1, .one_way_s = 1};
  EXPECT_EQ(overlap(even, 1), 2) << "both directions at once";
}

// ---- the lab and the clock

TEST(LabPlan, InAStarEveryHostHasAShapedLinkOfItsOwn) {
  const LabPlan plan = plan_star({400, 200}, 77);
  EXPECT_THAT(plan.namespaces,
              ElementsAre("stretto-77-a", "stretto-77-s", "stretto-77-b0", "stretto-77-b1"));
  std::vector<std::string> shaped;
  std::vector<std::string> rates;
  for (const Command& command : plan.commands) {
    if (command.front() == "tc") shaped.push_back(fmt::format("{} {}", command[2], command[6]));
    if (command.front() == "tc") rates.push_back(command[10]);
  }
  EXPECT_THAT(shaped, ElementsAre("stretto-77-s port1", "stretto-77-b0 eth0", "stretto-77-s port2",
                                  "stretto-77-b1 eth0"));
  EXPECT_THAT(rates, ElementsAre("400mbit", "400mbit", "200mbit", "200mbit"));
  EXPECT_EQ(plan.sender.network, "stretto-77-a");
  ASSERT_EQ(plan.receivers.size(), 2U);
  EXPECT_EQ(plan.receivers[1].address, "10.77.0.3");
}

TEST(LabPlan, WithADelayTheSwitchHasTapsInTheCablesPlace) {
  EXPECT_TRUE(plan_star({400, 200}, 77).delayed.cables.empty());
  const LabPlan plan = plan_star({400, 200}, 77, 3ms);
  EXPECT_EQ(plan.delayed.network, "stretto-77-s");
  EXPECT_EQ(plan.delayed.delay, 3ms);
  EXPECT_THAT(plan.delayed.cables,
              ElementsAre(std::pair("port1", "tap0"), std::pair("port2", "tap1")));
  std::vector<std::string> said;
  for (const Command& command : plan.commands)
    said.push_back(fmt::format("{}", fmt::join(command, " ")));
  for (const char* wanted : {"ip -n stretto-77-s link set dev port1 nomaster",
                             "ip -n stretto-77-s tuntap add dev tap0 mode tap vnet_hdr",
                             "ip -n stretto-77-s link set dev tap0 master bridge0"}) {
    EXPECT_THAT(said, testing::Contains(wanted));
  }
}

TEST(Pace, NeverEndsBeforeItsTimeAndCatchesUpAfterwards) {
  const Time start = std::chrono::steady_clock::now();
  Pace pace;
  for (int i = 0; i < 20; ++i) pace.compute(500us);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 10ms);
  pace.compute(0ns);  // Due already.
  const std::vector<double> late = pace.lateness_us();
  EXPECT_TRUE(std::is_sorted(late.begin(), late.end()));
  for (const double one : late) EXPECT_GE(one, 0);
}

TEST(InterruptSeconds, NeverGoBack) {
  const double before = interrupt_seconds();
  EXPECT_GE(before, 0);
  EXPECT_GE(interrupt_seconds(), before);
}

}  // namespace
}  // namespace stretto::bench::experiments
