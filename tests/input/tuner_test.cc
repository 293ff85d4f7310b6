// SPDX-License-Identifier: Apache-2.0
// The tuner on devices given by formulas, with results that can be computed by hand.
// tests/experiments/io_tuning_test.cc tests it on devices with queues and noise.
#include "input/tuning/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "common/clock.h"

namespace stretto::input {
namespace {

constexpr double kMega = 1e6;

/// A device whose rate is a formula of the knobs; the latency follows by Little's law.
struct Formula {
  std::function<double(Knobs)> rate;  ///< Bytes per second.
  double demand = 1e18;               ///< The consumer's.
  double noise = 0;
  Time now{};
  std::mt19937_64 random{1};

  Window run(Knobs knobs, Duration length) {
    now += length;
    std::normal_distribution<double> normal;
    const double able = rate(knobs) * (1 + noise * normal(random));
    const double delivered = std::min(able, demand);
    const auto latency = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(static_cast<double>(bytes_in_flight(knobs)) / delivered));
    const double bytes = delivered * seconds(length);
    return {.length = length,
            .delivered_bytes = static_cast<std::uint64_t>(bytes),
            .p95_latency = latency + latency / 10,
            .mean_latency = latency,
            .consumer_stall = able < demand ? length / 2 : Duration{},
            .requests = static_cast<std::uint64_t>(bytes / knobs.read_bytes) + 1};
  }
};

/// A pipe that is full with `bytes_in_flight_to_fill` in flight.
Formula pipe(double bytes_in_flight_to_fill, double most) {
  return {.rate = [=](Knobs knobs) {
    return most *
           std::min(1.0, static_cast<double>(bytes_in_flight(knobs)) / bytes_in_flight_to_fill);
  }};
}

/// Steps the tuner until it has settled; returns the number of windows.
int settle(Tuner& tuner, Formula& device, int most = 1000) {
  int windows = 0;
  while (!tuner.settled() && windows++ < most) {
    const Window window = device.run(tuner.knobs(), tuner.window());
    tuner.measured(device.now, window);
  }
  return windows;
}

void run_windows(Tuner& tuner, Formula& device, int count) {
  for (int i = 0; i < count; ++i) {
    const Window window = device.run(tuner.knobs(), tuner.window());
    tuner.measured(device.now, window);
  }
}

TEST(Tuner, BeginsWithTheFirstSettingAndFindsTheKnee) {
  Tuner tuner({});
  EXPECT_EQ(tuner.knobs(), (Knobs{8, 256 * 1024}));
  Formula device = pipe(16.0 * (1 << 20), 1000 * kMega);
  settle(tuner, device);
  EXPECT_TRUE(tuner.settled());
  EXPECT_EQ(tuner.knobs(), tuner.chosen());
  EXPECT_EQ(bytes_in_flight(tuner.knobs()), 16U << 20) << "no more than fills it";
  EXPECT_LE(tuner.probes(), 15U);
}

TEST(Tuner, StaysSmallWhereLittleIsEnough) {
  Tuner tuner({});
  Formula device = pipe(128.0 * 1024, 100 * kMega);
  settle(tuner, device);
  EXPECT_EQ(bytes_in_flight(tuner.knobs()), 128U << 10);
}

TEST(Tuner, FindsLargeReadsWhereOnlyTheirSizeHelps) {
  Tuner tuner({});
  Formula disk{.rate = [](Knobs knobs) {
    return knobs.read_bytes / (0.006 + knobs.read_bytes / (180 * kMega));
  }};
  settle(tuner, disk);
  EXPECT_EQ(tuner.knobs().read_bytes, 16U << 20);
  EXPECT_EQ(tuner.knobs().depth, 1U) << "depth gains nothing here";
}

TEST(Tuner, ClimbsDownWhereMoreIsSlower) {
  Tuner tuner({});
  Formula crowded{.rate = [](Knobs knobs) {
    return 100 * kMega * std::min(knobs.depth, 2U) / std::max(1.0, knobs.depth / 2.0);
  }};
  settle(tuner, crowded);
  EXPECT_EQ(tuner.knobs().depth, 2U);
}

TEST(Tuner, KeepsWithinTheMemory) {
  TunerLimits limits;
  limits.memory_bytes = 4 << 20;
  limits.first = {128, 16 * 1024 * 1024};
  Tuner tuner(limits);
  Formula device = pipe(1e9, 1000 * kMega);
  for (int i = 0; i < 300; ++i) {
    ASSERT_LE(bytes_in_flight(tuner.knobs()), limits.memory_bytes);
    run_windows(tuner, device, 1);
  }
  EXPECT_EQ(bytes_in_flight(tuner.knobs()), limits.memory_bytes) << "all of it gains here";
}

TEST(Tuner, KeepsRequestsAsFastAsAsked) {
  TunerLimits limits;
  limits.p95_latency = 20ms;
  Tuner tuner(limits);
  Formula device = pipe(1 << 20, 100 * kMega);  // 21 ms for the initial two MiB.
  settle(tuner, device);
  EXPECT_LE(device.run(tuner.knobs(), 1s).p95_latency, 20ms);
  EXPECT_GE(device.rate(tuner.knobs()), 97 * kMega);
}

TEST(Tuner, StopsRaisingWhenTheConsumerDoesNotWait) {
  Tuner tuner({});
  Formula device = pipe(64.0 * (1 << 20), 1000 * kMega);
  device.demand = 100 * kMega;
  settle(tuner, device);
  EXPECT_GE(device.rate(tuner.knobs()), device.demand);
  EXPECT_LT(device.rate(tuner.knobs()), 5 * device.demand);
  EXPECT_EQ(tuner.trials().back().reason, "the consumer does not wait");
  const Knobs before = tuner.knobs();
  run_windows(tuner, device, 250);
  EXPECT_EQ(tuner.knobs(), before) << "and leaves it at that";

  device.demand = 1e18;  // The consumer has become faster.
  run_windows(tuner, device, 60);
  EXPECT_GE(device.rate(tuner.knobs()), 970 * kMega);
}

TEST(Tuner, ASlowerConsumerIsNoChangeOfTheDevice) {
  Tuner tuner({});
  Formula device = pipe(4 << 20, 500 * kMega);
  settle(tuner, device);
  const std::size_t told = tuner.trials().size();
  device.demand = 50 * kMega;
  run_windows(tuner, device, 250);
  EXPECT_EQ(tuner.trials().size(), told);
}

TEST(Tuner, FindsItsWayAgainWithinTenWindowsOfAChange) {
  Tuner tuner({});
  Formula device = pipe(4 << 20, 500 * kMega);
  settle(tuner, device);
  run_windows(tuner, device, 20);
  device.rate = pipe(32.0 * (1 << 20), 500 * kMega).rate;  // The optimum is eight times farther.
  int windows = 0;
  while (device.rate(tuner.chosen()) < 475 * kMega && windows < 100) {
    const Knobs under = tuner.knobs();
    run_windows(tuner, device, 1);
    if (tuner.knobs() == under) ++windows;  // A ramp belongs to the window after it.
  }
  EXPECT_LE(windows, 10);
  settle(tuner, device);
  EXPECT_GE(device.rate(tuner.knobs()), 475 * kMega);
}

// A wider link is invisible at the current depth: only probing reveals it.
TEST(Tuner, NowAndThenItLooksWhetherMoreHasBecomePossible) {
  Tuner tuner({});
  Formula device = pipe(4 << 20, 500 * kMega);
  settle(tuner, device);
  device.rate = pipe(16.0 * (1 << 20), 2000 * kMega).rate;
  run_windows(tuner, device, 250);
  EXPECT_GE(device.rate(tuner.knobs()), 1900 * kMega);
}

// Whenever it is slower than its best known setting, a reported probe is in flight.
TEST(Tuner, IsSlowerThanTheBestKnownOnlyWhileItProbes) {
  Tuner tuner({});
  Formula device = pipe(16.0 * (1 << 20), 800 * kMega);
  device.noise = 0.02;
  int probing = 0;
  for (int i = 0; i < 1000; ++i) {
    if (tuner.settled()) {
      EXPECT_EQ(tuner.knobs(), tuner.chosen());
    } else if (tuner.knobs() != tuner.chosen()) {
      ++probing;
    }
    run_windows(tuner, device, 1);
  }
  EXPECT_LE(probing, 15 * 10 + 100) << "one search, and a look every hundred windows";
}

TEST(Tuner, NoiseAloneIsNoReasonToSearchAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Tuner tuner({});
    Formula device = pipe(8 << 20, 500 * kMega);
    device.noise = 0.08;
    device.random.seed(seed);
    settle(tuner, device);
    EXPECT_GE(device.rate(tuner.chosen()), 475 * kMega) << seed;
    run_windows(tuner, device, 500);
    EXPECT_EQ(std::count_if(tuner.trials().begin(), tuner.trials().end(),
                            [](const Trial& trial) { return trial.action == Action::kDrift; }),
              0)
        << seed;
  }
}

TEST(Tuner, ACapHoldsFromTheNextRequestAndIsLiftedAgain) {
  Tuner tuner({});
  Formula device = pipe(16.0 * (1 << 20), 500 * kMega);
  settle(tuner, device);
  const Knobs free = tuner.knobs();
  tuner.set_cap(device.now, 3 << 20);
  EXPECT_LE(bytes_in_flight(tuner.knobs()), 3U << 20);
  EXPECT_GT(bytes_in_flight(tuner.knobs()), 2U << 20) << "no less than permitted";
  run_windows(tuner, device, 300);
  EXPECT_LE(bytes_in_flight(tuner.knobs()), 3U << 20) << "it is not searched meanwhile";
  tuner.set_cap(device.now, 1);
  EXPECT_EQ(tuner.knobs(), (Knobs{1, 16 * 1024})) << "something must be in flight";
  tuner.set_cap(device.now, 0);
  EXPECT_EQ(tuner.knobs(), free);
  run_windows(tuner, device, 20);
  EXPECT_EQ(tuner.knobs(), free);
}

TEST(Tuner, ACapMayComeBeforeAnythingIsKnown) {
  Tuner tuner({});
  Formula device = pipe(16.0 * (1 << 20), 500 * kMega);
  tuner.set_cap(device.now, 1 << 20);
  run_windows(tuner, device, 50);
  EXPECT_LE(bytes_in_flight(tuner.knobs()), 1U << 20);
  tuner.set_cap(device.now, 0);
  settle(tuner, device);
  EXPECT_GE(device.rate(tuner.knobs()), 475 * kMega);
}

TEST(Tuner, RecordsTrialsWithReasons) {
  Tuner tuner({});
  Formula device = pipe(16.0 * (1 << 20), 1000 * kMega);
  settle(tuner, device);
  ASSERT_GE(tuner.trials().size(), 3U);
  EXPECT_EQ(tuner.trials().front().action, Action::kFirst);
  EXPECT_EQ(tuner.trials().back().action, Action::kChoose);
  EXPECT_EQ(tuner.trials().back().knobs, tuner.chosen());
  for (const Trial& trial : tuner.trials()) {
    EXPECT_FALSE(trial.reason.empty());
    EXPECT_GT(trial.bytes_per_second, 0);
  }
}

TEST(Tuner, WindowsWithoutRequestsGrowAndTellNothing) {
  Tuner tuner({});
  const Duration first = tuner.window();
  Time now{};
  for (int i = 0; i < 50; ++i) {
    const Duration length = tuner.window();
    EXPECT_LE(length, 10s);
    tuner.measured(now += length, {.length = length,
                                   .delivered_bytes = 0,
                                   .p95_latency = {},
                                   .mean_latency = {},
                                   .consumer_stall = length,
                                   .requests = 0});
  }
  EXPECT_GT(tuner.window(), first);
}

TEST(Tuner, LimitsOfOneSettingLeaveNothingToSearch) {
  TunerLimits limits;
  limits.least = limits.most = limits.first = {4, 65536};
  Tuner tuner(limits);
  Formula device = pipe(1 << 20, 100 * kMega);
  settle(tuner, device);
  EXPECT_EQ(tuner.knobs(), limits.first);
  EXPECT_EQ(tuner.probes(), 1U);
}

}  // namespace
}  // namespace stretto::input
