// SPDX-License-Identifier: Apache-2.0
// Order of the links' turns.
#include "van/queue/link_arbiter.h"

namespace stretto {
namespace {

// The oldest data gets one byte in kShareOfUrgent, at any urgency of other data.
constexpr std::uint64_t kShareOfUrgent = 32;
// Bytes to submit before the next search for the oldest data.
constexpr std::uint64_t kLookAfterBytes = 128 << 10;

}  // namespace

void LinkArbiter::set_control(LinkId link, bool ready) {
  if (ready) {
    control_.insert(link);
  } else if (!control_.empty()) {
    control_.erase(link);
  }
}

// A shaped link stays shaped.
void LinkArbiter::offer(LinkId link, bool shaped, const Offer& offer) {
  if (shaped && !plain_.empty()) plain_.withdraw(link);
  (shaped ? shaped_ : plain_).offer(link, offer);
}

void LinkArbiter::withdraw(LinkId link) {
  if (!plain_.empty()) plain_.withdraw(link);
  if (!shaped_.empty()) shaped_.withdraw(link);
}

std::optional<LinkId> LinkArbiter::control() const {
  if (control_.empty()) return std::nullopt;
  return *control_.begin();
}

bool LinkArbiter::is_before(LinkId link, LinkId other) const {
  const bool wraps = link <= last_served_;
  const bool other_wraps = other <= last_served_;
  return wraps != other_wraps ? other_wraps : link < other;
}

std::optional<LinkId> LinkArbiter::most_urgent(const SendWindows& windows, Candidates among) {
  const auto most_urgent = [&](const ReadyLinks& ready, bool shaped) {
    return ready.most_urgent(last_served_, [&windows, shaped](const Offer& offer) {
      return windows.fits(shaped, offer.room, offer.urgent);
    });
  };
  const std::optional<LinkId> plain = most_urgent(plain_, false);
  if (among == Candidates::kUnshaped) return plain;
  const std::optional<LinkId> shaped = most_urgent(shaped_, true);
  held_back_ = held_back_ || (!shaped && !shaped_.empty());
  if (!plain || !shaped) return plain ? plain : shaped;
  const Urgency& first = plain_.of(*plain).urgency;
  const Urgency& second = shaped_.of(*shaped).urgency;
  const bool shaped_first = second < first || (first == second && is_before(*shaped, *plain));
  return shaped_first ? shaped : plain;
}

void LinkArbiter::served(LinkId link, std::uint64_t charge) {
  since_oldest_bytes_ += charge;
  last_served_ = link;
}

bool LinkArbiter::may_be_aged() const { return since_oldest_bytes_ >= kLookAfterBytes; }

bool LinkArbiter::is_aged(std::uint64_t charge) const {
  return since_oldest_bytes_ >= kShareOfUrgent * charge;
}

}  // namespace stretto
