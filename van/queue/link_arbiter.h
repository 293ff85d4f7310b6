// SPDX-License-Identifier: Apache-2.0
// LinkArbiter: selects the link that sends next. Control frames first, then the most urgent data,
// with round robin among equals; periodically the oldest data, so that none starves.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "van/queue/ready_links.h"
#include "van/queue/send_windows.h"

namespace stretto {

/// The links to pick data from.
enum class Candidates : std::uint8_t { kAll, kUnshaped };

/// Chooses from the offers of links. Thread: loop. Pure.
class LinkArbiter {
 public:
  using Offer = ReadyLinks::Offer;

  /// Whether the link has sendable control frames.
  void set_control(LinkId link, bool ready);
  /// Replaces the link's offer of data. Its own window has room.
  void offer(LinkId link, bool shaped, const Offer& offer);
  /// The link has no sendable data.
  void withdraw(LinkId link);

  std::optional<LinkId> control() const;
  /// The link with the most urgent offer that fits the shared windows; among equals round robin,
  /// starting after the last served link.
  std::optional<LinkId> most_urgent(const SendWindows& windows, Candidates among);
  /// Calls `look(link, offer)` for fitting offers of a pool, oldest first, until it returns false;
  /// then for those of the next pool.
  template <typename Look>
  void by_age(const SendWindows& windows, Candidates among, const Look& look) const;

  /// After a pause, this link starts the round robin. If members start together, each with another
  /// peer, all downlinks are used from the start.
  void begin_turns(LinkId link) { last_served_ = link - 1; }
  /// A slice of data of this link has left.
  void served(LinkId link, std::uint64_t charge);
  /// True if enough bytes have left since the last aged slice to search for the next one.
  bool may_be_aged() const;
  /// True if an aged slice of this size may leave now.
  bool is_aged(std::uint64_t charge) const;
  /// An aged slice leaves.
  void note_aged() { since_oldest_bytes_ = 0; }

  /// True if the last pick found a link with room in its own window, but not in that of all shaped
  /// links.
  bool held_back() const { return held_back_; }
  /// Call before a pick.
  void begin() { held_back_ = false; }

 private:
  bool is_before(LinkId link, LinkId other) const;

  ReadyLinks plain_;
  ReadyLinks shaped_;
  std::set<LinkId> control_;
  std::uint64_t since_oldest_bytes_ = 0;
  LinkId last_served_ = 0;
  bool held_back_ = false;
};

template <typename Look>
void LinkArbiter::by_age(const SendWindows& windows, Candidates among, const Look& look) const {
  const auto fits = [&](bool shaped) {
    return [&windows, shaped](const Offer& offer) {
      return windows.fits(shaped, offer.room, offer.urgent);
    };
  };
  plain_.by_age(fits(false), look);
  if (among == Candidates::kAll) shaped_.by_age(fits(true), look);
}

}  // namespace stretto
