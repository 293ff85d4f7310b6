// SPDX-License-Identifier: Apache-2.0
// A program decodes in its own thread, unless a thread pool is faster.
#include "input/tuning/caller_pool_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stretto::input {
namespace {

constexpr double kComputing = 1e-3;  // Seconds per sample, in the program.

/// The cost of decoding a sample, and whether it holds a lock of the program.
struct Function {
  double seconds = 0;
  bool locks = false;
};

Duration duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// With a lock, threads only slow each other down.
double rate_of(const Function& function, std::uint32_t threads) {
  const double alone = 1 / (kComputing + function.seconds);
  if (threads == 0) return alone;
  if (function.locks) return 0.9 * alone;
  return std::min(1 / kComputing, threads / function.seconds);
}

void settle(CallerPoolTuner& tuner, const Function& function) {
  Time now{};
  for (int i = 0; i < 300 && !tuner.settled(); ++i) {
    const double length = std::chrono::duration<double>(tuner.window()).count();
    const double rate = rate_of(function, tuner.threads());
    now += tuner.window();
    tuner.measured(now, {.length = duration(length),
                         .samples = static_cast<std::uint64_t>(rate * length),
                         .decoding = duration(function.seconds),
                         .stall = duration(length * (1 - rate * kComputing))});
  }
  EXPECT_TRUE(tuner.settled()) << tuner.log();
}

TEST(CallerPoolTuner, UsesNoThreadsForCheapDecoding) {
  CallerPoolTuner tuner(16);
  settle(tuner, {.seconds = 5e-6});
  EXPECT_EQ(tuner.threads(), 0U) << tuner.log();
}

TEST(CallerPoolTuner, DecodesByItselfWhereThreadsGetInTheWay) {
  CallerPoolTuner tuner(16);
  settle(tuner, {.seconds = 2e-3, .locks = true});
  EXPECT_EQ(tuner.threads(), 0U) << tuner.log();
}

TEST(CallerPoolTuner, TakesThreadsUntilTheProgramNeedNotWait) {
  for (const double seconds : {0.1e-3, 0.9e-3, 3.5e-3, 7.5e-3}) {
    CallerPoolTuner tuner(16);
    settle(tuner, {.seconds = seconds});
    EXPECT_EQ(rate_of({.seconds = seconds}, tuner.threads()), 1 / kComputing) << tuner.log();
  }
}

TEST(CallerPoolTuner, TakesAllWhereTheProgramWaitsEvenThen) {
  CallerPoolTuner tuner(4);
  settle(tuner, {.seconds = 20e-3});
  EXPECT_EQ(tuner.threads(), 4U) << tuner.log();
}

TEST(CallerPoolTuner, TellsOfThreadsAndNotOfDepths) {
  CallerPoolTuner tuner(16);
  settle(tuner, {.seconds = 7.5e-3});
  EXPECT_NE(tuner.log().find("first   0 decode threads  "), std::string::npos) << tuner.log();
  EXPECT_EQ(tuner.log().find("depth"), std::string::npos) << tuner.log();
}

}  // namespace
}  // namespace stretto::input
