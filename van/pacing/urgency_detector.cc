// SPDX-License-Identifier: Apache-2.0
// Computes the background of urgent frames, and remembers urgent frames for a time.
#include "van/pacing/urgency_detector.h"

#include <algorithm>
#include <utility>

#include "common/clock.h"

namespace stretto {
namespace {

constexpr Duration kLasts = 10s;               // Up to twice that.
constexpr std::uint64_t kMostUrgent = 8;       // Above one byte in eight it is background,
constexpr std::uint64_t kFewBytes = 64 << 20;  // unless the total is small for any link.

void raise(std::optional<Urgency>& most, const Urgency& urgency) {
  if (!most || urgency < *most) most = urgency;
}

}  // namespace

void UrgencyDetector::forget_old(Time now) {
  const Duration age = now - since_;
  if (age < kLasts) return;
  before_ = std::exchange(sent_, {});
  if (age >= 2 * kLasts) before_ = {};
  since_ = now;
}

Urgency UrgencyDetector::background() const {
  Urgency most;
  for (const Sent* sent : {&sent_, &before_}) {
    if (sent->background && *sent->background < most) most = *sent->background;
  }
  return most;
}

bool UrgencyDetector::are_many(std::uint64_t Sent::* bytes) const {
  const std::uint64_t these = sent_.*bytes + before_.*bytes;
  return these > kFewBytes && these > (sent_.bytes + before_.bytes) / kMostUrgent;
}

void UrgencyDetector::note(const Urgency& urgency, bool bulk, std::uint64_t bytes, Time now) {
  forget_old(now);
  sent_.bytes += bytes;
  if (bulk || !(urgency < Urgency{})) return raise(sent_.background, urgency);
  const bool urgent = is_urgent(urgency, bulk);
  const auto kind = urgent ? &Sent::urgent_bytes : &Sent::asking_bytes;
  sent_.*kind += bytes;
  if (!are_many(kind)) {
    if (urgent) note_urgent(urgency, now);
    return;
  }
  raise(sent_.background, urgency);
  if (!urgent) return;
  sent_.asking_bytes += std::exchange(sent_.urgent_bytes, 0);
  before_.asking_bytes += std::exchange(before_.urgent_bytes, 0);
  until_ = now;
}

void UrgencyDetector::note_urgent(const Urgency& urgency, Time now) {
  priority_ = lasts(now) ? std::max(priority_, urgency.priority) : urgency.priority;
  const Duration gap = last_ ? now - *last_ : Duration::max();
  gaps_.add(gap > kLongestGap ? 0 : seconds(gap), now);
  last_ = now;
  const std::chrono::duration<double> longest(gaps_.get());
  until_ = now + std::max(kLeast, std::chrono::duration_cast<Duration>(2 * longest));
}

}  // namespace stretto
