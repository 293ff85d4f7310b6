// SPDX-License-Identifier: Apache-2.0
// Computes a typical delay from the kernel's totals.
#include "van/path/scheduling_delay.h"

#include <utility>

namespace stretto {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Duration kEvery = 1ms;           // A reading takes some microseconds.
constexpr Duration kBetweenLooks = 200us;  // While a new driver's delays are read.
constexpr Duration kWaitInterval = 250ms;
constexpr Duration kCareful = 2 * kWaitInterval;
constexpr double kLeastShare = 0.04;  // Of the time: rarer delays cost less than a window.
// Threads that wake each other wait some tenths of this on an otherwise idle machine.
constexpr double kOrdinary = 1e-3;

}  // namespace

bool SchedulingDelay::is_due(Time now) const { return !begun_ || now - noted_at_ >= kEvery; }

// Each thread that drives the loop has its own account. A reading on each change costs more than a
// short delay, so it is done only while delays are long.
void SchedulingDelay::begin_turn(const Clock& clock, const void* thread) {
  if (std::exchange(driver_, thread) == thread) return;
  driver_came_at_ = clock.now();
  account_is_known_ =
      driver_came_at_ < careful_until_ && driver_came_at_ - looked_at_first_ >= kBetweenLooks;
  if (!account_is_known_) return;
  looked_at_first_ = driver_came_at_;
  move(clock.waited());
}

void SchedulingDelay::end_turn(const Clock& clock) {
  const Time now = clock.now();
  if (!is_due(now)) return;
  const Duration waited = clock.waited();
  if (!std::exchange(account_is_known_, true)) {
    if (now - driver_came_at_ >= kEvery) careful_until_ = now + kCareful;
    move(waited);
  }
  note(waited, now);
}

void SchedulingDelay::note(Duration waited, Time now) {
  if (!begun_) {
    begun_ = true;
    since_ = now;
  } else if (waited > waited_) {
    const double seconds = Seconds(waited - waited_).count();
    now_.seconds += seconds;
    now_.squares += seconds * seconds;
    if (seconds >= kOrdinary) careful_until_ = now + kCareful;
  }
  waited_ = waited;
  noted_at_ = now;
  if (now - since_ >= kWaitInterval) end_interval(now);
}

void SchedulingDelay::end_interval(Time now) {
  const Duration length = now - since_;
  const double seconds = now_.seconds + before_.seconds;
  const double share = seconds / Seconds(length + length_before_).count();
  const double wait = seconds > 0 ? (now_.squares + before_.squares) / seconds : 0;
  const bool counts = share >= kLeastShare && wait >= kOrdinary;
  typical_ = counts ? std::chrono::duration_cast<Duration>(Seconds(wait)) : Duration::zero();
  before_ = now_;
  length_before_ = length;
  now_ = {};
  since_ = now;
}

}  // namespace stretto
