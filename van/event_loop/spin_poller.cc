// SPDX-License-Identifier: Apache-2.0
// The spin loop: it checks memory each time, and the system periodically.
#include "van/event_loop/spin_poller.h"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/threads/processors.h"

namespace stretto {
namespace {

using Asked = Transport::Asked;

// A check of sockets is a system call; so is a yield, which costs more.
constexpr Duration kBetweenCalls = std::chrono::microseconds(1);
constexpr int kCallsBetweenYields = 4;
constexpr int kPausesBetweenLooks = 8;
// With fewer, spinning keeps the peer from running.
constexpr double kLeastProcessors = 2;

void pause_briefly() {
  for (int i = 0; i < kPausesBetweenLooks; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }
}

}  // namespace

// Files are opened on the first check: most processes never check.
std::function<bool()> spare_processors() {
  return [processors = std::shared_ptr<Processors>()]() mutable {
    if (!processors) processors = std::make_shared<Processors>();
    return processors->usable() >= kLeastProcessors && processors->suffice();
  };
}

SpinPoller::SpinPoller(Duration bound, const Clock& clock, Waker& waker,
                       std::function<bool()> spare)
    : bound_(bound),
      clock_(clock),
      waker_(waker),
      ask_(std::move(spare)),
      calls_(bound),
      answers_(bound) {}

void SpinPoller::poll(Transport& transport, Transport::Sink& sink, Duration wait,
                      WaitReason awaits) {
  const bool never = bound_ <= Duration::zero() || awaits == WaitReason::kNothing;
  if (never || wait <= Duration::zero()) return transport.poll(sink, wait);
  const std::optional<bool> come = transport.has_come(Asked::kMemory);
  if (!come) return transport.poll(sink, wait);
  if (*come) return transport.poll(sink, Duration::zero());  // No wait to learn from.
  SpinPredictor& ahead = awaits == WaitReason::kAnswers ? answers_ : calls_;
  Time begin = clock_.now();
  if (ahead.length() > Duration::zero() && may_look(begin)) {
    transport.flush();
    const bool found = look(transport, std::min(ahead.length(), wait), ahead);
    if (found) return transport.poll(sink, Duration::zero());
    const Time end = clock_.now();
    wait = std::max(wait - (end - begin), Duration::zero());
    begin = end;
  }
  transport.poll(sink, wait);
  ahead.slept(clock_.now() - begin, wait);
}

bool SpinPoller::may_look(Time now) {
  if (spare_.is_due(now)) spare_.told(ask_(), now);
  return spare_.is_spare();
}

bool SpinPoller::look(Transport& transport, Duration limit, SpinPredictor& ahead) {
  Waker::Look wakes(waker_);
  const Time begin = clock_.now();
  Time last = begin;
  Time asked_system = Time::min();
  for (int calls = 0;;) {
    const Time now = clock_.now();
    spare_.kept_away(now - last, now);
    last = now;
    if (now - begin >= limit || !spare_.is_spare()) {
      ahead.looked(now - begin, false);
      return false;
    }
    bool found = wakes.take() || transport.has_come(Asked::kMemory).value_or(true);
    if (!found && now >= asked_system) {
      found = transport.has_come(Asked::kSystem).value_or(true);
      asked_system = now + kBetweenCalls;
      // Threads that are ready to run here, perhaps the peer, go first.
      if (!found && ++calls % kCallsBetweenYields == 0) ::sched_yield();
    }
    if (found) {
      ahead.looked(now - begin, true);
      return true;
    }
    pause_briefly();
  }
}

}  // namespace stretto
