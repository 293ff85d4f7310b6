// SPDX-License-Identifier: Apache-2.0
// SendWindows: how much is in flight on each link and on all that share the way out of this host,
// and how much may be. Links that were shaped share one window, the others another.
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
  /// What the queue must know of one link.
  struct Link {
    explicit Link(std::uint64_t window_bytes) : window(window_bytes) {}

    LinkWindow window;
    bool shaped = false;
    bool full = false;     ///< The transport has no room for it.
    bool changed = false;  ///< For drain_changed().
    bool counts_as_wide = false;
  };

  SendWindows(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);

  /// For links that have not been shaped, those there are and those to come.
  void set(std::uint64_t link_window_bytes, std::uint64_t total_window_bytes);
  /// The link's own, in latency mode and in throughput mode. Shaped links have a window of their
  /// own for all of them together.
  void shape(LinkId link, const WindowLimits& latency, const WindowLimits& throughput);
  void set_shaped(std::uint64_t latency_bytes, std::uint64_t throughput_bytes);
  /// Latency mode, in which frames more urgent than `above` that are no bulk are urgent; none:
  /// throughput mode. What was sent in throughput mode keeps its window open for urgent frames:
  /// nothing is gained by waiting for it here.
  void set_latency_mode(const std::optional<Urgency>& above);
  /// No slice is larger, on any link. Without it a frame may leave whole.
  void set_largest_slice(std::uint64_t bytes);

  void add(LinkId link);
  /// What it had in flight no longer counts.
  void remove(LinkId link);
  /// Null if it is not there.
  const Link* find(LinkId link) const { return links_.find(link); }

  void note_sent(LinkId link, std::uint64_t bytes);
  /// The far end says how many bytes it has taken in all. False if that is more than were sent:
  /// the far end is not to be believed.
  bool credited(LinkId link, std::uint64_t taken_bytes);
  /// Of what the link was given, the first `sent_bytes` have left this host, credited or not: they
  /// no longer count against the window of all shaped links.
  void departed(LinkId link, std::uint64_t sent_bytes);
  void set_full(LinkId link, bool full);

  Slicing slicing_of(const Link& link) const;
  bool is_urgent(const Frame& frame) const {
    return above_ && !frame.bulk && frame.urgency() < *above_;
  }
  /// True if the link's own window has so much room.
  bool has_room(const Link& link, std::uint64_t room, bool urgent) const {
    return link.window.has_room(room, urgent, above_.has_value());
  }
  /// True if the window of all links, shaped or not, has so much room.
  bool fits(bool shaped, std::uint64_t room, bool urgent) const;

  std::uint64_t in_flight(LinkId link) const;
  std::uint64_t in_flight() const;
  /// On all shaped links together, but for what has departed.
  std::uint64_t shaped_in_flight() const { return pools_[1].here; }
  /// Of the link that has most.
  std::uint64_t most_in_flight() const;
  std::uint64_t sent(LinkId link) const;

  /// Calls `visit(id, link)` once for each link whose room, or slices, may have changed since it
  /// was last called for it.
  template <typename Visit>
  void drain_changed(const Visit& visit);

 private:
  // Of all links that were not shaped, and of all that were.
  struct Pool {
    std::uint64_t latency_bytes = 0;
    std::uint64_t throughput_bytes = 0;
    std::uint64_t here = 0;      // Sum of LinkWindow::here.
    std::size_t wide_links = 0;  // Those that count as wide.

    // A link of the pool had `before` here.
    void recount(Link& link, std::uint64_t before);
    // What the link has in flight no longer counts.
    void leave(Link& link);
  };

  Pool& pool_of(const Link& link) { return pools_[link.shaped ? 1 : 0]; }
  void touch(LinkId id, Link& link);

  std::uint64_t link_window_bytes_;
  std::uint64_t largest_slice_bytes_ = wire::kMaxPayloadBytes;
  std::optional<Urgency> above_;  // In latency mode.
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
