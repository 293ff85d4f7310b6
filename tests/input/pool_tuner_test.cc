// SPDX-License-Identifier: Apache-2.0
// Threads that help until the processors are used up.
#include "input/tuning/pool_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stretto::input {
namespace {

/// Each thread decodes a thousand samples a second, as far as there are processors.
void settle(PoolTuner& tuner, std::uint32_t processors, double demand) {
  Time now{};
  for (int i = 0; i < 300 && !tuner.settled(); ++i) {
    const Duration length = tuner.window();
    const double seconds = std::chrono::duration<double>(length).count();
    const double able = 1000.0 * std::min(tuner.threads(), processors);
    const double rate = std::min(able, demand);
    tuner.measured(now += length, {.length = length,
                                   .delivered_bytes = static_cast<std::uint64_t>(rate * seconds),
                                   .p95_latency = 1ms,
                                   .mean_latency = std::chrono::duration_cast<Duration>(
                                       std::chrono::duration<double>(tuner.threads() / rate)),
                                   .consumer_stall = able < demand ? length / 2 : Duration{},
                                   .requests = 1000});
  }
}

TEST(PoolTuner, TakesAsManyThreadsAsHelp) {
  PoolTuner tuner(2, 24);
  settle(tuner, 6, 1e9);
  EXPECT_TRUE(tuner.settled());
  EXPECT_EQ(tuner.threads(), 8U) << "of 4 and 8 the one that uses all processors";
}

TEST(PoolTuner, TakesNoMoreThanAreNeeded) {
  PoolTuner tuner(1, 64);
  settle(tuner, 64, 3500);
  EXPECT_EQ(tuner.threads(), 4U);
}

TEST(PoolTuner, MayHaveOneThreadOnly) {
  PoolTuner tuner(4, 1);
  settle(tuner, 8, 1e9);
  EXPECT_EQ(tuner.threads(), 1U);
}

}  // namespace
}  // namespace stretto::input
