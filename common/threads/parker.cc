// SPDX-License-Identifier: Apache-2.0
// A futex: its word records whether a thread sleeps, and whether a wake-up is pending.
#include "common/threads/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace stretto {
namespace {

std::uint32_t* word_of(std::atomic<std::uint32_t>& state) {
  static_assert(sizeof(state) == sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(&state);
}

}  // namespace

void Parker::park_until(Time deadline) {
  std::uint32_t awake = kAwake;
  if (state_.compare_exchange_strong(awake, kAsleep, std::memory_order_acquire)) {
    // steady_clock is CLOCK_MONOTONIC, the clock of FUTEX_WAIT_BITSET deadlines.
    const auto since = deadline.time_since_epoch();
    const auto whole = std::chrono::floor<std::chrono::seconds>(since);
    const timespec until{.tv_sec = whole.count(), .tv_nsec = Duration(since - whole).count()};
    const bool forever = deadline == Time::max();
    ::syscall(SYS_futex, word_of(state_), FUTEX_WAIT_BITSET_PRIVATE, kAsleep,
              forever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  }
  state_.exchange(kAwake, std::memory_order_acquire);
}

void Parker::unpark() {
  if (state_.exchange(kWoken, std::memory_order_release) != kAsleep) return;
  ::syscall(SYS_futex, word_of(state_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace stretto
