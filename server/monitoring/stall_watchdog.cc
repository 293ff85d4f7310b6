// SPDX-License-Identifier: Apache-2.0
// Compares the age of the oldest wait for each part with the limits.
#include "server/monitoring/stall_watchdog.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kStallWatchdogEvery = 1s;

}  // namespace

StalledRounds StallWatchdog::look(OwnedSlots& slots, const JobSettings& settings, Time now,
                                  const Fail& fail) {
  next_ = now + kStallWatchdogEvery;
  StalledRounds waits;
  slots.for_each_part([&](Part& part) {
    if (part.waiting.empty()) return;
    const Duration age = now - part.waiting.oldest().since;
    if (age < std::min(StalledRounds::kLong, settings.stall_error)) return;
    const Consistency& rounds = part.collector.rounds();
    const std::uint64_t round = rounds.version() + 1;
    const std::vector<Rank> awaited = rounds.group()->ranks_of(rounds.awaited());
    waits.add(part.spec.name, round, age, awaited);
    if (std::min(age, now - excused_) < settings.stall_error) return;
    const std::string missing = list_of(awaited);
    fail(part,
         Status(Code::kTimeout, fmt::format("waited {:.0f} s for worker {}", seconds(age), missing))
             .with_peer(fmt::format("worker {}", missing)));
  });
  return waits;
}

}  // namespace stretto
