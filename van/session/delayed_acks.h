// SPDX-License-Identifier: Apache-2.0
// DelayedAcks: links with pending acks or credit. Those wait a moment for a frame to ride on.
#pragma once

#include <deque>
#include <utility>

#include "van/session/link_table.h"

namespace stretto {

/// Thread: loop. Pure: it gets times as arguments, and reports which links need a frame.
class DelayedAcks {
 public:
  /// Threshold of credit that is sent at once.
  void set_much(std::uint64_t bytes) { much_bytes_ = bytes; }
  /// The link has a pending ack from now on, unless it had one before.
  void note(LinkId id, LinkState& link, Time now);
  /// Calls `tell(id)` if a credit frame should be queued now. False if the ack may wait.
  template <typename Tell>
  bool settle(LinkId id, LinkState& link, bool late, const Tell& tell) {
    const AckState::Telling telling = link.session.owed().settle(much_bytes_, late);
    if (telling == AckState::Telling::kNow) tell(id);
    return telling != AckState::Telling::kLater;
  }
  /// settle() for all links with pending acks.
  template <typename Tell>
  void settle_all(LinkTable& links, Time now, const Tell& tell);
  /// When the oldest ack is due; Time::max(): there is none.
  Time due() const { return owing_.empty() ? Time::max() : owing_.front().second + kDelay; }
  bool empty() const { return owing_.empty(); }

 private:
  static constexpr Duration kDelay = std::chrono::milliseconds(1);

  std::deque<std::pair<LinkId, Time>> owing_;  // Pending since.
  std::uint64_t much_bytes_ = 0;
};

template <typename Tell>
void DelayedAcks::settle_all(LinkTable& links, Time now, const Tell& tell) {
  for (std::size_t left = owing_.size(); left > 0; --left) {
    const auto [id, since] = owing_.front();
    owing_.pop_front();
    LinkState* link = links.find(id);
    if (link == nullptr) continue;
    if (settle(id, *link, since + kDelay <= now, tell)) {
      link->owing = false;
    } else {
      owing_.emplace_back(id, since);
    }
  }
}

}  // namespace stretto
