// SPDX-License-Identifier: Apache-2.0
// From what the scheduler tells to a length.
#include "van/waits.h"

#include <utility>

#include "common/driven_loop.h"

namespace stretto {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Duration kEvery = 1ms;  // Looking takes some microseconds.
constexpr Duration kWaitInterval = 250ms;
constexpr double kLeastShare = 0.04;  // Of the time: what is rarer costs a link less than a window.
// Threads that wake one another wait for some tenths of this where no other program runs.
constexpr double kOrdinary = 1e-3;

}  // namespace

bool Waits::is_due(Time now) const { return !begun_ || now - noted_at_ >= kEvery; }

Duration Waits::look(const Clock& clock) {
  const Time now = clock.now();
  if (!is_due(now)) return typical_;
  const Duration waited = clock.waited();
  const void* const thread = DrivenLoop::this_thread();
  if (std::exchange(thread_, thread) != thread) move(waited);
  note(waited, now);
  return typical_;
}

void Waits::note(Duration waited, Time now) {
  if (!begun_) {
    begun_ = true;
    since_ = now;
  } else if (waited > waited_) {
    const double seconds = Seconds(waited - waited_).count();
    now_.seconds += seconds;
    now_.squares += seconds * seconds;
  }
  waited_ = waited;
  noted_at_ = now;
  if (now - since_ >= kWaitInterval) end_interval(now);
}

void Waits::end_interval(Time now) {
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
