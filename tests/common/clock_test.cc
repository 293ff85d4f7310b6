// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of a thread's time.
#include "common/clock.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <filesystem>
#include <thread>

namespace stretto {
namespace {

TEST(ClockTest, TheEndOfTimeIsTheLatestThatAnythingCanBe) {
  constexpr Time kNow{100s};
  EXPECT_EQ(after(kNow, 1s), Time(101s));
  EXPECT_EQ(after(kNow, -1s), Time(99s));
  EXPECT_EQ(after(kNow, Time::max() - kNow), Time::max());
  EXPECT_EQ(after(kNow, Time::max() - kNow + 1ns), Time::max());
  EXPECT_EQ(after(kNow, Duration::max()), Time::max());
}

TEST(ClockTest, CustomClockHasZeroWaitedTime) {
  class Still final : public Clock {
    Time now() const override { return {}; }
  };
  EXPECT_EQ(Still().waited(), Duration::zero());
}

TEST(ClockTest, AThreadThatSharesItsProcessorHasWaited) {
  const bool told = std::filesystem::exists("/proc/thread-self/schedstat");
  const SteadyClock clock;
  std::atomic<bool> seen = false;
  const auto spin = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    std::jthread other([&] {  // It inherits the processor.
      while (!seen.load()) continue;
    });
    const Duration before = clock.waited();
    const Time end = clock.now() + (told ? 60s : 10ms);
    while (clock.waited() <= before && clock.now() < end) continue;
    seen = true;
    EXPECT_EQ(clock.waited() > before, told) << "only a kernel that keeps no account tells nothing";
  };
  std::jthread(spin).join();
}

}  // namespace
}  // namespace stretto
