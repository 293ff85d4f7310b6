// SPDX-License-Identifier: Apache-2.0
// A wake is neither lost nor kept twice.
#include "common/threads/parker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace stretto {
namespace {

TEST(Parker, AWakeBeforeTheSleepEndsIt) {
  Parker parker;
  parker.unpark();
  parker.unpark();
  parker.park_until(Time::max());
}

TEST(Parker, ADeadlineEndsASleep) {
  Parker parker;
  const Time deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (std::chrono::steady_clock::now() < deadline) parker.park_until(deadline);
  parker.park_until(Time());
}

TEST(Parker, TwoThreadsWakeOneAnother) {
  Parker even;
  Parker odd;
  std::atomic<int> turn{0};
  const std::jthread other([&] {
    for (int i = 1; i < 2000; i += 2) {
      while (turn < i) odd.park_until(Time::max());
      ++turn;
      even.unpark();
    }
  });
  for (int i = 0; i < 2000; i += 2) {
    while (turn < i) even.park_until(Time::max());
    ++turn;
    odd.unpark();
  }
}

}  // namespace
}  // namespace stretto
