// SPDX-License-Identifier: Apache-2.0
// Differences between two readings of all seats.
#include "van/host_window/host_rate.h"

#include <algorithm>

#include "common/clock.h"

namespace stretto::host {
namespace {

// Long enough that one slice of each endpoint hardly matters.
constexpr Duration kBetweenLooks = std::chrono::milliseconds(20);
constexpr Duration kMostBetween = std::chrono::milliseconds(100);
constexpr double kMostRate = 1e12;

}  // namespace

void HostRate::note(std::span<const HostEntry> others, std::uint64_t own_taken_bytes, Time now) {
  const Duration passed = now - since_;
  if (passed < kBetweenLooks) return;
  std::array<Taken, kMostSeats> taken;
  double bytes = static_cast<double>(own_taken_bytes - own_before_);
  for (const HostEntry& other : others) {
    if (!other.is_alive(now) || other.seat >= kMostSeats) continue;
    taken[other.seat] = {true, other.taken_bytes};
    const Taken& before = before_[other.seat];
    const bool goes_on = before.alive && other.taken_bytes >= before.bytes;
    if (goes_on) bytes += static_cast<double>(other.taken_bytes - before.bytes);
  }
  if (passed < kMostBetween && bytes > 0)
    rate_.add(std::min(bytes / seconds(passed), kMostRate), now);
  before_ = taken;
  own_before_ = own_taken_bytes;
  since_ = now;
}

}  // namespace stretto::host
