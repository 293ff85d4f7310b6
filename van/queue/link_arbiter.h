// SPDX-License-Identifier: Apache-2.0
// LinkArbiter: which link has its turn. Control frames first, then the most urgent data; equals by
// turns; and now and then what has waited longest, so that nothing waits for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "van/queue/ready_links.h"
#include "van/queue/send_windows.h"

namespace stretto {

/// Which links data is picked from.
enum class Candidates : std::uint8_t { kAll, kUnshaped };

/// Thread: loop. Pure: it is told what links would send.
class LinkArbiter {
 public:
  using Offer = ReadyLinks::Offer;

  /// Whether the link has control frames that may go.
  void set_control(LinkId link, bool ready);
  /// What data it would send, in place of what it offered before. It has room in its own window.
  void offer(LinkId link, bool shaped, const Offer& offer);
  /// It has none that may go.
  void withdraw(LinkId link);

  std::optional<LinkId> control() const;
  /// Of the links whose offers fit the windows of all, that of the most urgent; of equals those
  /// after the link that was served last have their turn first.
  std::optional<LinkId> most_urgent(const SendWindows& windows, Candidates among);
  /// Calls `look(link, offer)` for those that fit, the one that has waited longest first, until it
  /// is false; then for those of the next pool.
  template <typename Look>
  void by_age(const SendWindows& windows, Candidates among, const Look& look) const;

  /// The first data after a pause is this link's, which has the first turn of equals. Where members
  /// begin together, each with another peer, no downlink is left out at first.
  void begin_turns(LinkId link) { last_served_ = link - 1; }
  /// A slice of data of this link has left.
  void served(LinkId link, std::uint64_t charge);
  /// So much has left since the longest waiting had its turn that it is worth looking for it.
  bool may_be_aged() const;
  /// So much that a slice of it may go now.
  bool is_aged(std::uint64_t charge) const;
  /// It goes now.
  void note_aged() { since_oldest_bytes_ = 0; }

  /// True if the last pick found a link whose own window was open when that of all shaped links
  /// was not.
  bool held_back() const { return held_back_; }
  /// Before a pick.
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
