// SPDX-License-Identifier: Apache-2.0
// clock_nanosleep on the clock of std::chrono::steady_clock.
#include "tools/bench/support/pace.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "tools/bench/support/now.h"

namespace stretto::bench {
Pace::Pace() : due_(now()) { ::prctl(PR_SET_TIMERSLACK, 1); }

void Pace::compute(Duration time) {
  due_ += time;
  if (due_ <= now()) return;
  const auto since = due_.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  const timespec deadline{.tv_sec = seconds.count(), .tv_nsec = (since - seconds).count()};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
  lateness_us_.push_back(std::chrono::duration<double, std::micro>(now() - due_).count());
}

void Pace::waited() { due_ = std::max(due_, now()); }

std::vector<double> Pace::lateness_us() const {
  std::vector<double> sorted = lateness_us_;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace stretto::bench
