// SPDX-License-Identifier: Apache-2.0
// ReadyLinks: links with sendable data and room in their own windows, in sending order, so that the
// next link is found without a search over all.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "van/queue/frame_list.h"

namespace stretto {

/// Thread: loop.
class ReadyLinks {
 public:
  /// What a link would send.
  struct Offer {
    Urgency urgency;           ///< Of its most urgent frame.
    std::uint64_t oldest = 0;  ///< Order of its oldest frame.
    std::uint64_t room = 0;    ///< Bytes that the shared window must have left.
    bool urgent = false;       ///< In latency mode.
    friend bool operator==(const Offer&, const Offer&) = default;
  };

  bool empty() const { return offers_.empty(); }
  const Offer& of(LinkId link) const { return offers_.at(link); }
  /// Replaces the link's previous offer.
  void offer(LinkId link, const Offer& offer);
  void withdraw(LinkId link);

  /// Whether any offer may fit. If `fits` holds for an offer, it must hold for all of equal urgency
  /// that need less room.
  template <typename Fits>
  bool any(const Fits& fits) const;
  /// The most urgent fitting offer; among equals round robin, starting after `last`.
  template <typename Fits>
  std::optional<LinkId> most_urgent(LinkId last, const Fits& fits) const;
  /// Calls `look(link, offer)` for fitting offers, oldest first, until it returns false.
  template <typename Fits, typename Look>
  void by_age(const Fits& fits, const Look& look) const;

 private:
  std::unordered_map<LinkId, Offer> offers_;
  std::set<std::pair<Urgency, LinkId>> by_urgency_;
  std::set<std::pair<std::uint64_t, LinkId>> by_age_;
  std::multiset<std::uint64_t> rooms_[2];  // Of offers that are not urgent, and of urgent ones.
};

template <typename Fits>
bool ReadyLinks::any(const Fits& fits) const {
  for (const bool urgent : {false, true}) {
    const auto& rooms = rooms_[urgent ? 1 : 0];
    if (!rooms.empty() && fits(Offer{.urgency = {}, .room = *rooms.begin(), .urgent = urgent})) {
      return true;
    }
  }
  return false;
}

template <typename Fits>
std::optional<LinkId> ReadyLinks::most_urgent(LinkId last, const Fits& fits) const {
  if (!any(fits)) return std::nullopt;
  for (auto group = by_urgency_.begin(); group != by_urgency_.end();) {
    const Urgency urgency = group->first;
    const auto start = by_urgency_.upper_bound({urgency, last});
    auto next = start;
    for (; next != by_urgency_.end() && next->first == urgency; ++next) {
      if (fits(offers_.at(next->second))) return next->second;
    }
    for (auto it = group; it != start; ++it) {
      if (fits(offers_.at(it->second))) return it->second;
    }
    group = next;
  }
  return std::nullopt;
}

template <typename Fits, typename Look>
void ReadyLinks::by_age(const Fits& fits, const Look& look) const {
  if (!any(fits)) return;
  for (const auto& [order, link] : by_age_) {
    const Offer& offer = offers_.at(link);
    if (fits(offer) && !look(link, offer)) return;
  }
}

}  // namespace stretto
