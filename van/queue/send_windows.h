// SPDX-License-Identifier: Apache-2.0
// SendWindows: bytes in flight and their limits, for each link and for all links of this host's
// uplink. Shaped links share one window, the others another.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "van/queue/link_map.h"
#include "van/queue/link_window.h"
#include "van/transport/transport.h"

namespace stretto {

/// Thread: loop. Pure.
class SendWindows {
 public:
  /// State of one link.
  struct Link {
    explicit Link(std::uint64_t window_bytes) : window(window_bytes) {}

    LinkWindow window;
    bool shaped = false;
    bool full = false;     ///< The transport has no room for it.
    bool changed = false;  ///< For drain_changed().
    bool counts_as_wide = false;
  };

  SendWindows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);

  /// For links without shaping, present and future.
  void set(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);
  /// Windows of one link, in latency mode and in throughput mode. Shaped links have their own
  /// shared window.
  void shape(LinkId link, const WindowLimits& latency, const WindowLimits& throughput);
  void set_shaped(std::uint64_t latency_bytes, std::uint64_t throughput_bytes);
  /// Latency mode: frames more urgent than `above` that are not bulk are urgent; none: throughput
  /// mode. While bytes of throughput mode are in flight, urgent frames keep its window: waiting
  /// here would gain nothing.
  void set_latency_mode(const std::optional<Urgency>& above);
  /// Limits slices on all links. Otherwise a frame may leave unsliced.
  void set_largest_slice(std::uint64_t bytes);

  void add(LinkId link);
  /// Its bytes in flight no longer count.
  void remove(LinkId link);
  /// Null if unknown.
  const Link* find(LinkId link) const { return links_.find(link); }

  void note_sent(LinkId link, std::uint64_t bytes);
  /// The peer reports the total that it has taken. False if that is more than was sent: the report
  /// is invalid.
  bool credited(LinkId link, std::uint64_t taken_bytes);
  /// The link's first `sent_bytes` have left this host, credited or not: they no longer count
  /// against the window of all shaped links.
  void departed(LinkId link, std::uint64_t sent_bytes);
  void set_full(LinkId link, bool full);

  Slicing slicing_of(const Link& link) const;
  bool is_urgent(const Frame& frame) const {
    return above_ && !frame.bulk && frame.urgency() < *above_;
  }
  /// True if the link's own window has `room` left.
  bool has_room(const Link& link, std::uint64_t room, bool urgent) const {
    return link.window.has_room(room, urgent, above_.has_value());
  }
  /// True if the shared window of shaped or other links has `room` left.
  bool fits(bool shaped, std::uint64_t room, bool urgent) const;

  std::uint64_t in_flight(LinkId link) const;
  std::uint64_t in_flight() const;
  /// Of all shaped links, without departed bytes.
  std::uint64_t shaped_in_flight() const { return pools_[1].here; }
  /// Of the link with most.
  std::uint64_t most_in_flight() const;
  std::uint64_t sent(LinkId link) const;

  /// Calls `visit(id, link)` once for each link whose room or slices may have changed since its
  /// last visit.
  template <typename Visit>
  void drain_changed(const Visit& visit);

 private:
  // Totals of all links without shaping, or of all shaped links.
  struct Pool {
    std::uint64_t latency_bytes = 0;
    std::uint64_t throughput_bytes = 0;
    std::uint64_t here = 0;      // Sum of LinkWindow::here.
    std::size_t wide_links = 0;  // Links that count as wide.

    // Updates the totals for a link that had `before` here.
    void recount(Link& link, std::uint64_t before);
    // Removes the link's bytes in flight from the totals.
    void leave(Link& link);
  };

  Pool& pool_of(const Link& link) { return pools_[link.shaped ? 1 : 0]; }
  void touch(LinkId id, Link& link);

  std::uint64_t link_window_bytes_;
  std::uint64_t largest_slice_bytes_ = wire::kMaxPayloadBytes;
  std::optional<Urgency> above_;  // Set in latency mode.
  Pool pools_[2];
  LinkMap<Link> links_;
  std::vector<LinkId> changed_;
};

template <typename Visit>
void SendWindows::drain_changed(const Visit& visit) {
  for (const LinkId id : changed_) {
    Link* link = links_.find(id);
    if (link == nullptr || !std::exchange(link->changed, false)) continue;
    visit(id, std::as_const(*link));
  }
  changed_.clear();
}

}  // namespace stretto
