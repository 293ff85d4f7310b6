// SPDX-License-Identifier: Apache-2.0
// Pacer: keeps the send queue's windows and quanta as the paths to the far ends want them, and all
// of them together as the way out of this host wants it: links that share an uplink share its
// window, so that urgency holds across peers.
#pragma once

#include <map>
#include <optional>

#include "van/host/yielding.h"
#include "van/path.h"
#include "van/recent_urgency.h"
#include "van/send_queue.h"

namespace stretto {

/// Thread: loop. Only links that were added are paced.
class Pacer {
 public:
  explicit Pacer(SendQueue& queue) : queue_(queue) {}

  /// No window may grow beyond this.
  void set_limit(std::uint64_t window_bytes) { limit_bytes_ = window_bytes; }

  void add_link(LinkId link, Time now);
  void remove_link(LinkId link) { paths_.erase(link); }

  /// Time has passed: what has left this host by now makes room for others.
  void on_time(Time now);
  /// The slice to submit now; none if nothing may go. A link whose round trip is to be seen
  /// waits until all that shares the way out has arrived, and with it all that is less urgent; not
  /// for long, and all of them together not more than one part in twenty of the time.
  std::optional<SendQueue::Pick> next(Time now);
  /// True if the last next() found what only time, and no credit, may let go.
  bool held_back() const {
    return queue_.held_back() || ((shut_ || yields_) && queue_.waiting() > 0);
  }
  /// A slice of data is about to go: true if the far end should tell at once that it has come.
  bool wants_credit(LinkId link, std::uint64_t charge);
  void on_sent(LinkId link, std::uint64_t charge, Time now);
  /// The same slice is of this frame: after what is urgent, bulk yields for a while.
  void note_urgency(const Frame& frame, Time now);
  void on_credit(LinkId link, std::uint64_t taken_bytes, Time now);
  /// What one end tells the other of the path between them, in a credit frame: the least round
  /// trip that it has seen of late, and how long its loop waits for a processor.
  void tell(LinkId link, wire::Header& credit) const;
  void hear(LinkId link, const wire::Header& credit);
  /// How long this end's loop waits for a processor when it does.
  void set_own_wait(Duration wait) { own_wait_ = wait; }

  /// What other processes leave of this host's window.
  void set_share(const host::HostShare& share, Time now);
  /// What they should know of this one, but for when and of which job it is.
  host::HostEntry entry(Time now) const;

  /// What is known of a link's path, or null.
  const Path* find(LinkId link) const;

 private:
  Bounds limited(std::uint64_t window_bytes, std::uint64_t quantum_bytes) const;
  Bounds bounds_of(const Path& path) const;
  Bounds bulk_bounds_of(const Path& path) const;
  bool waits_for_quiet(Path& path, Time now);
  void let_bulk_yield(Time now);
  void shape(LinkId link, const Path& path);
  void shape_all(Time now);

  SendQueue& queue_;
  std::map<LinkId, Path> paths_;
  PathSums sums_;  // Of those with bytes in flight.
  std::uint64_t taken_bytes_ = 0;
  host::HostShare share_;
  host::Yielding yielding_;
  bool yields_ = false;  // The last next() found only what has to wait for another process.
  RecentUrgency urgency_;
  Time other_urgent_until_ = {};  // Of other processes.
  bool may_grow_ = false;         // Others have more of the host's window than their parts.
  Duration own_wait_{};
  bool shut_ = false;     // A probe waits for an empty way out,
  Time shut_since_ = {};  // since then.
  Time shut_again_ = {};  // None does before.
  std::uint64_t limit_bytes_ = 8 << 20;
  Time shaped_all_at_ = {};
};

}  // namespace stretto
