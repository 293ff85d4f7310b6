// SPDX-License-Identifier: Apache-2.0
// Detection of starved workers and of the cause, and the effect of throttling: scripted, with
// noise, and in a closed loop with a modelled device.
#include "scheduler/monitoring/input_fairness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "experiments/io/io_device.h"
#include "input/tuning/tuner.h"
#include "tests/common/effort.h"

namespace stretto {
namespace {

constexpr std::uint32_t kRead = 256 * 1024;

InputDelivery delivery_of(double share, Duration latency = 10ms, double demanded = 100e6) {
  return {.delivered_bytes = static_cast<std::uint64_t>(share * demanded),
          .demanded_bytes = static_cast<std::uint64_t>(demanded),
          .stall = std::chrono::duration_cast<Duration>((1 - share) * 1s),
          .length = 1s,
          .mean_latency = latency,
          .in_flight_bytes = 8 * kRead,
          .read_bytes = kRead};
}

std::map<Rank, InputDelivery> workers(const std::vector<double>& shares) {
  std::map<Rank, InputDelivery> window;
  for (const double share : shares) {
    window[static_cast<Rank>(window.size())] = delivery_of(share);
  }
  return window;
}

TEST(InputFairness, JainsIndex) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0.5, 0.5, 0.5}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 0, 0, 0}), 0.25);
  EXPECT_NEAR(jain_index(std::vector<double>{1, 1, 1, 0.3}), 0.881, 1e-3);
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{0, 0}), 1);
}

TEST(InputFairness, RobustScoresAreNotMovedByTheOutlier) {
  const std::vector<double> values{1.0, 0.9, 1.1, 1.0, 0.1};
  const std::vector<double> scores = robust_scores(values, 0.001);
  EXPECT_NEAR(scores[4], -0.9 / (1.4826 * 0.1), 1e-9);
  EXPECT_NEAR(scores[0], 0, 1e-9);
  EXPECT_NEAR(robust_scores(std::vector<double>{1, 1, 1, 0.9}, 0.05)[3], -2, 1e-9)
      << "where all others are equal, the least deviation counts";
}

TEST(InputFairness, AStarvedWorkerIsNamedInTheThirdWindow) {
  InputFairness fairness;
  const auto window = workers({0.95, 0.95, 0.3, 0.95});
  EXPECT_TRUE(fairness.judge(window).alarms.empty());
  EXPECT_TRUE(fairness.judge(window).alarms.empty());
  const InputFairness::Judgement judgement = fairness.judge(window);
  ASSERT_EQ(judgement.alarms.size(), 1U);
  EXPECT_EQ(judgement.alarms[0].rank, 2U);
  EXPECT_EQ(judgement.alarms[0].describe(),
            "worker 2 gets 30 % of the data that it asks for, the middle one 95 %: stolen share");
}

TEST(InputFairness, OneBadWindowIsNoAlarm) {
  InputFairness fairness;
  for (int i = 0; i < 30; ++i) {
    const double share = i % 3 == 0 ? 0.95 : 0.3;
    EXPECT_TRUE(fairness.judge(workers({0.95, 0.95, share, 0.95})).alarms.empty());
  }
}

TEST(InputFairness, ASlowDeviceIsToldFromAStolenShare) {
  InputFairness fairness;
  auto window = workers({0.9, 0.9, 0.9, 0.3});
  window[3].mean_latency = 40ms;
  for (int i = 0; i < 3; ++i) fairness.judge(window);
  ASSERT_EQ(fairness.latest().alarms.size(), 1U);
  EXPECT_EQ(fairness.latest().alarms[0].cause, Starvation::kSlowDevice);
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(fairness.limit_of(rank), 0U) << "holding others back would not help";
  }
}

TEST(InputFairness, NamesAllWorkersStarvedByOne) {
  InputFairness fairness;
  auto window = workers({0.2, 0.2, 0.8, 0.2});
  window[2].in_flight_bytes = 64 * kRead;
  for (int i = 0; i < 3; ++i) fairness.judge(window);
  ASSERT_EQ(fairness.latest().alarms.size(), 3U);
  EXPECT_EQ(fairness.latest().alarms[0].describe(),
            "worker 0 gets 20 % of the data that it asks for, the best one 80 %: stolen share");
  EXPECT_EQ(fairness.limit_of(2), 48U * kRead);
  EXPECT_EQ(fairness.limit_of(0), 0U);
}

TEST(InputFairness, OneFasterDeviceStealsNothing) {
  InputFairness fairness;
  auto window = workers({0.2, 0.2, 0.8, 0.2});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(fairness.judge(window).alarms.empty());
  window[2].in_flight_bytes = 64 * kRead;
  window[2].mean_latency = 2ms;
  for (int i = 0; i < 3; ++i) fairness.judge(window);
  ASSERT_EQ(fairness.latest().alarms.size(), 3U);
  for (const InputFairness::Alarm& alarm : fairness.latest().alarms) {
    EXPECT_EQ(alarm.cause, Starvation::kSlowDevice);
  }
  EXPECT_EQ(fairness.limit_of(2), 0U);
}

// One worker far below makes all rates unequal; the fastest worker is not the cause.
TEST(InputFairness, ASlowDeviceBesideADeepQueueStaysOne) {
  for (const double best : {0.96, 1.0}) {
    InputFairness fairness;
    auto window = workers({0.3, 0.84, 0.84, 0.84, 0.84, 0.84, 0.84, best});
    window[0].mean_latency = 22ms;
    window[7].mean_latency = 13ms;
    window[7].in_flight_bytes = 64 * kRead;
    for (int i = 0; i < 10; ++i) fairness.judge(window);
    ASSERT_EQ(fairness.latest().alarms.size(), 1U);
    EXPECT_EQ(fairness.latest().alarms[0].cause, Starvation::kSlowDevice);
    for (Rank rank = 0; rank < 8; ++rank) EXPECT_EQ(fairness.limit_of(rank), 0U) << rank;
  }
}

TEST(InputFairness, DistinguishesLowDemandFromStarvation) {
  InputFairness fairness;
  auto window = workers({0.9, 0.9, 0.9, 0.9});
  window[3] = delivery_of(1, 10ms, 10e6);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(fairness.judge(window).alarms.empty());
  // Its report may contradict itself: no stall, and yet less than it demanded.
  window[3] = delivery_of(0.2);
  window[3].stall = {};
  for (int i = 0; i < 3; ++i) fairness.judge(window);
  ASSERT_EQ(fairness.latest().alarms.size(), 1U);
  EXPECT_EQ(fairness.latest().alarms[0].cause, Starvation::kLowDemand);
}

// Windows of four workers with 6 % of noise each, a common load, and spikes of single workers.
TEST(InputFairness, AThousandFairWindowsRaiseNoAlarm) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    InputFairness fairness;
    for (int i = 0; i < 1000; ++i) {
      const double load = 0.75 + 0.2 * std::sin(i / 20.0);
      std::vector<double> shares;
      for (int worker = 0; worker < 4; ++worker) {
        const double spike = uniform(random) < 0.01 ? 0.5 : 1;
        shares.push_back(std::clamp(load * spike * (1 + 0.06 * normal(random)), 0.0, 1.0));
      }
      EXPECT_TRUE(fairness.judge(workers(shares)).alarms.empty()) << seed << ", window " << i;
    }
  }
}

TEST(InputFairness, LimitsShrinkByQuarterAndGrowByRead) {
  InputFairness fairness;
  const auto unfair = workers({0.95, 0.95, 0.3, 0.95});
  for (int i = 0; i < 3; ++i) fairness.judge(unfair);
  EXPECT_EQ(fairness.limit_of(0), 6U * kRead);
  EXPECT_EQ(fairness.limit_of(2), 0U);
  fairness.judge(unfair);
  EXPECT_EQ(fairness.limit_of(0), 6U * kRead / 4 * 3);
  const auto fair = workers({0.8, 0.8, 0.8, 0.8});
  for (int i = 0; i < 5; ++i) fairness.judge(fair);
  EXPECT_EQ(fairness.limit_of(0), 6U * kRead / 4 * 3 + kRead);
  for (int i = 0; i < 100; ++i) fairness.judge(fair);
  EXPECT_EQ(fairness.limit_of(0), 0U) << "as much as before: no limit any more";
  for (int i = 0; i < 100; ++i) fairness.judge(unfair);
  EXPECT_EQ(fairness.limit_of(0), 64U * 1024) << "something must be in flight";
  fairness.forget(0);
  EXPECT_EQ(fairness.limit_of(0), 0U);
}

TEST(InputFairness, LimitsDoNotGrowWhileSharesDriftApart) {
  InputFairness fairness;
  for (int i = 0; i < 3; ++i) fairness.judge(workers({0.95, 0.95, 0.3, 0.95}));
  fairness.judge(workers({0.8, 0.8, 0.8, 0.8}));
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(fairness.judge(workers({0.64, 0.5, 0.36, 0.5})).alarms.empty());
    EXPECT_EQ(fairness.limit_of(0), 6U * kRead);
  }
}

TEST(InputFairness, RaisesOnlyLimitOfStarvedWorker) {
  InputFairness fairness;
  for (int i = 0; i < 6; ++i) fairness.judge(workers({0.95, 0.95, 0.3, 0.95}));
  const std::uint64_t limit = fairness.limit_of(0);
  EXPECT_EQ(limit, 8ULL * kRead / 256 * 81);
  for (int i = 0; i < 3; ++i) fairness.judge(workers({0.3, 0.8, 0.8, 0.8}));
  EXPECT_EQ(fairness.limit_of(0), limit + limit / 3);
  EXPECT_EQ(fairness.limit_of(2), 0U);
  EXPECT_EQ(fairness.limit_of(3), limit);
  for (int i = 0; i < 20; ++i) fairness.judge(workers({0.3, 0.8, 0.8, 0.8}));
  EXPECT_EQ(fairness.limit_of(0), 0U) << "as much as before: no limit any more";
}

TEST(InputFairness, OfOneWorkerNothingCanBeSaid) {
  InputFairness fairness;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(fairness.judge(workers({0.1})).alarms.empty());
    EXPECT_TRUE(fairness.judge({}).alarms.empty());
  }
}

// Programs that only read take any amount. Their rate plus their waits tells their demand, which
// differs, but not their service from storage, which does not.
TEST(InputFairness, JudgesPureReadersByThroughput) {
  InputFairness fairness;
  const auto reading = [](double bytes, double demanded) {
    InputDelivery delivery = delivery_of(1, 10ms, bytes);
    delivery.demanded_bytes = static_cast<std::uint64_t>(demanded);
    delivery.stall = 990ms;
    return delivery;
  };
  std::map<Rank, InputDelivery> window = {{0, reading(100e6, 2e9)},
                                          {1, reading(102e6, 10e9)},
                                          {2, reading(99e6, 1e9)},
                                          {3, reading(100e6, 4e9)}};
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(fairness.judge(window).alarms.empty());
  EXPECT_GT(fairness.latest().index, 0.99);
  window[2] = reading(30e6, 1e9);
  for (int i = 0; i < 3; ++i) fairness.judge(window);
  ASSERT_EQ(fairness.latest().alarms.size(), 1U);
  EXPECT_EQ(fairness.latest().alarms[0].rank, 2U);
  EXPECT_EQ(fairness.latest().alarms[0].cause, Starvation::kStolenShare);
}

// Workers that wait for each other all consume at the slowest one's rate.
TEST(InputFairness, LimitsWorkersCrowdingDeviceInLockstep) {
  InputFairness fairness;
  std::map<Rank, InputDelivery> window;
  for (Rank rank = 0; rank < 4; ++rank) {
    window[rank] = delivery_of(1, 10ms, 50e6);
    window[rank].in_flight_bytes = 32 * kRead;
  }
  window[3].demanded_bytes = 160'000'000;
  window[3].stall = 690ms;
  window[3].in_flight_bytes = 4 * kRead;
  for (int i = 0; i < 3; ++i) fairness.judge(window);
  ASSERT_EQ(fairness.latest().alarms.size(), 1U);
  EXPECT_EQ(fairness.latest().alarms[0].rank, 3U);
  EXPECT_EQ(fairness.latest().alarms[0].cause, Starvation::kStolenShare);
  EXPECT_EQ(fairness.limit_of(0), 24U * kRead);
  EXPECT_EQ(fairness.limit_of(3), 0U);
  // With as many bytes in flight it still waits: something else is slow, such as its decoding.
  InputFairness another;
  window[3].in_flight_bytes = 32 * kRead;
  for (int i = 0; i < 3; ++i) another.judge(window);
  ASSERT_EQ(another.latest().alarms.size(), 1U);
  EXPECT_EQ(another.latest().alarms[0].cause, Starvation::kUnknown);
  EXPECT_EQ(another.limit_of(0), 0U);
}

TEST(InputFairness, ForgetsStoppedReaderAndLiftsLimits) {
  InputFairness fairness;
  const auto unfair = workers({0.95, 0.3});
  for (int i = 0; i < 3; ++i) fairness.judge(unfair);
  EXPECT_EQ(fairness.limit_of(0), 6U * kRead);
  EXPECT_EQ(fairness.limit_of(1), 0U) << "who is starved is not held back";
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(fairness.judge(workers({0.95})).alarms.empty());
  EXPECT_EQ(fairness.limit_of(0), 0U);
  EXPECT_TRUE(fairness.judge(unfair).alarms.empty()) << "it is counted from the beginning";
}

// ---- closed loop

/// Four workers on one device whose demands exceed its rate.
class SharedDevice {
 public:
  SharedDevice(const std::vector<std::uint32_t>& depths, std::uint64_t seed)
      : device_(*bench::experiments::find_device_model("noisy"), seed, depths.size()),
        depths_(depths) {}

  std::map<Rank, InputDelivery> window(const InputFairness& fairness) {
    for (std::size_t i = 0; i < depths_.size(); ++i) {
      device_.set_client(i, {.knobs = knobs_of(i, fairness), .demand_bytes_per_s = kDemand});
    }
    std::map<Rank, InputDelivery> window;
    const auto seen = device_.run(1s);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double waited = std::chrono::duration<double>(seen[i].consumer_stall).count();
      window[static_cast<Rank>(i)] = {
          .delivered_bytes = seen[i].delivered_bytes,
          .demanded_bytes = seen[i].delivered_bytes + static_cast<std::uint64_t>(waited * kDemand),
          .stall = seen[i].consumer_stall,
          .length = seen[i].length,
          .mean_latency = seen[i].mean_latency,
          .in_flight_bytes = input::bytes_in_flight(knobs_of(i, fairness)),
          .read_bytes = kRead};
    }
    return window;
  }

 private:
  static constexpr double kDemand = 500e6;  // Each, of 1.5 GB/s.

  input::Knobs knobs_of(std::size_t i, const InputFairness& fairness) const {
    const std::uint64_t limit = fairness.limit_of(static_cast<Rank>(i));
    const auto most = static_cast<std::uint32_t>(std::max<std::uint64_t>(limit / kRead, 1));
    return {limit == 0 ? depths_[i] : std::min(depths_[i], most), kRead};
  }

  bench::experiments::IoDevice device_;
  std::vector<std::uint32_t> depths_;
};

TEST(InputFairness, BalancesTheWorkersOfOneDevice) {
  for (std::uint64_t seed = 1; seed <= repeated(10U); ++seed) {
    SharedDevice device({32, 4, 32, 32}, seed);
    InputFairness fairness;
    device.window(fairness);  // Warm-up.
    for (int i = 0; i < 3; ++i) fairness.judge(device.window(fairness));
    EXPECT_LT(fairness.latest().index, 0.95);
    ASSERT_EQ(fairness.latest().alarms.size(), 1U) << seed;
    EXPECT_EQ(fairness.latest().alarms[0].rank, 1U);
    EXPECT_EQ(fairness.latest().alarms[0].cause, Starvation::kStolenShare);
    double sum = 0;
    for (int i = 0; i < 60; ++i) {
      fairness.judge(device.window(fairness));
      if (i >= 20) sum += fairness.latest().index / 40;
    }
    EXPECT_GE(sum, 0.95) << seed;
  }
}

TEST(InputFairness, LeavesTheWorkersOfOneDeviceAloneThatAreAlike) {
  SharedDevice device({32, 32, 32, 32}, 7);
  InputFairness fairness;
  device.window(fairness);
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(fairness.judge(device.window(fairness)).alarms.empty());
  }
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(fairness.limit_of(rank), 0U);
}

}  // namespace
}  // namespace stretto
