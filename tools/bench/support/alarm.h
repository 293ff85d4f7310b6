// SPDX-License-Identifier: Apache-2.0
// Waits with a precision below a millisecond. epoll and libzmq wait in whole milliseconds; rounded
// up, a wait ends with the next arrival. Urgent messages would then be sent at one point of the
// background's rhythm instead of any point.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "common/check.h"
#include "common/descriptor.h"
#include "stretto/types.h"

namespace stretto::bench {

/// A descriptor that becomes readable at a given time. Thread: any.
class Timer {
 public:
  Timer() : descriptor_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    STRETTO_CHECK(descriptor_.is_open());
  }

  void set(Time when) const {
    const std::int64_t since_start = std::max<std::int64_t>(when.time_since_epoch().count(), 1);
    constexpr std::int64_t kSecond = 1'000'000'000;
    itimerspec spec{};
    spec.it_value = {since_start / kSecond, since_start % kSecond};
    STRETTO_CHECK(::timerfd_settime(get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
  }
  /// Waits for that time; afterwards the descriptor is not readable.
  void await() const {
    std::uint64_t times = 0;
    while (::read(get(), &times, sizeof times) < 0) {
    }
  }
  int get() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
};

/// Calls `ring` on its own thread at the time set last. Thread: user.
class Alarm {
 public:
  explicit Alarm(std::function<void()> ring)
      : ring_(std::move(ring)), thread_([this] { watch(); }) {}
  ~Alarm() {
    over_.store(true);
    timer_.set(Time());
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void set(Time when) {
    if (when != std::exchange(set_to_, when)) timer_.set(when);
  }

 private:
  void watch() const {
    for (timer_.await(); !over_.load(); timer_.await()) ring_();
  }

  std::function<void()> ring_;
  std::atomic<bool> over_ = false;
  Timer timer_;
  Time set_to_;
  std::jthread thread_;
};

}  // namespace stretto::bench
