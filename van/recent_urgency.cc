// SPDX-License-Identifier: Apache-2.0
// What bulk is compared with, and how long an urgent frame is remembered.
#include "van/recent_urgency.h"

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

constexpr Duration kBulkLasts = 10s;  // To twice as long.

}  // namespace

void RecentUrgency::forget_old_bulk(Time now) {
  const Duration age = now - bulk_since_;
  if (age < kBulkLasts) return;
  bulk_before_ = std::exchange(bulk_, std::nullopt);
  if (age >= 2 * kBulkLasts) bulk_before_.reset();
  bulk_since_ = now;
}

void RecentUrgency::note_bulk(const Urgency& urgency, Time now) {
  forget_old_bulk(now);
  if (!bulk_ || urgency < *bulk_) bulk_ = urgency;
}

bool RecentUrgency::is_urgent(const Urgency& urgency) const {
  if (!bulk_ && !bulk_before_) return urgency < Urgency{};
  const auto passes = [&urgency](const std::optional<Urgency>& bulk) {
    return !bulk || urgency < *bulk;
  };
  return passes(bulk_) && passes(bulk_before_);
}

void RecentUrgency::note_other(const Urgency& urgency, Time now) {
  forget_old_bulk(now);
  if (!is_urgent(urgency)) return;
  priority_ = lasts(now) ? std::max(priority_, urgency.priority) : urgency.priority;
  const Duration gap = last_ ? now - *last_ : Duration::max();
  gaps_.add(gap > kLongestGap ? 0 : std::chrono::duration<double>(gap).count(), now);
  last_ = now;
  const std::chrono::duration<double> longest(gaps_.get());
  until_ = now + std::max(kLeast, std::chrono::duration_cast<Duration>(2 * longest));
}

}  // namespace stretto
