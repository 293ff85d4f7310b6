// SPDX-License-Identifier: Apache-2.0
// The decode pool's tuner in a reader, in virtual time: which waits count as the pool's, and
// whether the tuner or the user sets its threads.
#include "input/tuning/pool_tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "input/io/decode_pool.h"

namespace stretto::input {
namespace {

Options options_with(bool tune) {
  Options options;
  options.tune = tune;
  options.decode_threads = 1;
  options.decode = [](const Sample&) -> Result<std::any> { return std::any(); };
  return options;
}

void stall(Meter& meter, Duration time) {
  meter.waits(Time(1s));
  meter.goes_on(Time(1s) + time);
}

/// A pool that is always too slow: each thread decodes a thousand samples a second.
void serve(PoolTuning& pool, Meter& meter, Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  for (int i = 0; i < static_cast<int>(1000 * pool.threads() * seconds); ++i) pool.decoded(1ms);
  stall(meter, time / 2);
}

TEST(PoolTuning, TakesMoreThreadsWhileTheConsumerWaitsForThem) {
  Time now{};
  Meter meter(now);
  PoolTuning pool(options_with(true), meter);
  pool.begin(now);
  pool.busy(now, true);
  for (int window = 0; window < 100; ++window) {
    serve(pool, meter, pool.due() - now);
    now = pool.due();
    pool.step(now - 1ns);
    EXPECT_EQ(pool.due(), now) << "nothing before it is due";
    pool.step(now);
  }
  const std::uint32_t processors = std::max(std::thread::hardware_concurrency(), 1U);
  EXPECT_EQ(pool.threads(), std::min(2 * processors, kMostDecoders));
  EXPECT_NE(pool.log().find("decode threads"), std::string::npos);
}

TEST(PoolTuning, WaitingForReadsIsNoReason) {
  Time now{};
  Meter meter(now);
  PoolTuning pool(options_with(true), meter);
  pool.begin(now);
  for (int window = 0; window < 100; ++window) {
    serve(pool, meter, pool.due() - now);  // The consumer waits while the pool is idle.
    now = pool.due();
    pool.busy(now, true);
    pool.busy(now, false);
    pool.step(now);
  }
  EXPECT_EQ(pool.threads(), 1U);
}

TEST(PoolTuning, WaitingIsForThePoolWhileThatHasSomethingToDo) {
  Meter meter(Time{});
  PoolTuning pool(options_with(true), meter);
  pool.begin(Time{});
  stall(meter, 1s);
  pool.busy(Time(1s), true);
  stall(meter, 2s);
  pool.busy(Time(3s), false);
  stall(meter, 4s);
  EXPECT_EQ(pool.take_stall(Time(7s)), 2s);
  pool.busy(Time(7s), true);
  stall(meter, 1s);
  EXPECT_EQ(pool.take_stall(Time(8s)), 1s);
  EXPECT_EQ(pool.take_stall(Time(9s)), 0s);
}

TEST(PoolTuning, StopsTuningOnceUserSetsThreads) {
  Meter meter(Time{});
  PoolTuning fixed(options_with(false), meter);
  fixed.begin(Time{});
  EXPECT_EQ(fixed.due(), Time::max());
  PoolTuning tuned(options_with(true), meter);
  tuned.begin(Time{});
  EXPECT_LT(tuned.due(), Time::max());
  tuned.set_threads(3);
  EXPECT_EQ(tuned.due(), Time::max());
  EXPECT_EQ(tuned.threads(), 3U);
  tuned.set_threads(0);
  EXPECT_EQ(tuned.threads(), 1U);
  tuned.set_threads(1'000'000);
  EXPECT_EQ(tuned.threads(), 64U);
}

TEST(PoolTuning, UserSettingSurvivesConcurrentTuning) {
  for (int round = 0; round < 100; ++round) {
    Time now{};
    Meter meter(now);
    PoolTuning pool(options_with(true), meter);
    pool.begin(now);
    std::jthread user([&pool] { pool.set_threads(1); });
    for (int window = 0; window < 10 && pool.due() != Time::max(); ++window) {
      pool.step(now += 1min);
    }
    user.join();
    EXPECT_EQ(pool.threads(), 1U);
  }
}

}  // namespace
}  // namespace stretto::input
