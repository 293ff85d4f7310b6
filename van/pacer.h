// SPDX-License-Identifier: Apache-2.0
// Pacer: keeps the send queue's windows and quanta as the paths to the far ends want them, and all
// of them together as the way out of this host wants it: links that share an uplink share its
// window, so that urgency holds across peers.
#pragma once

#include <map>

#include "van/path.h"
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
  /// A slice of data is about to go: true if the far end should tell at once that it has come.
  bool wants_credit(LinkId link, std::uint64_t charge);
  void on_sent(LinkId link, std::uint64_t charge, Time now);
  void on_credit(LinkId link, std::uint64_t taken_bytes, Time now);

  /// What is known of a link's path, or null.
  const Path* find(LinkId link) const;

 private:
  std::uint64_t quantum_of(const Path& path) const;
  void shape(LinkId link, const Path& path, Time now);
  void shape_all(Time now);

  SendQueue& queue_;
  std::map<LinkId, Path> paths_;
  std::uint64_t limit_bytes_ = 8 << 20;
  Time shaped_all_at_ = {};
};

}  // namespace stretto
