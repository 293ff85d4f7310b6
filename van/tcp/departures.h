// SPDX-License-Identifier: Apache-2.0
// Departures: how frames leave by connections: small ones together, at the next flush; the others
// at once, as far as the kernel takes them, and then when there is room.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "van/tcp/connection_table.h"
#include "van/watch.h"

namespace stretto::tcp {

/// Thread: loop. Table and watch outlive it.
class Departures {
 public:
  /// A connection that holds `most_waiting` messages is full, until it holds half of them.
  Departures(ConnectionTable& table, Watch& watch, std::size_t most_waiting)
      : table_(table), watch_(watch), most_waiting_(most_waiting) {}

  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Hands what waits to leave together to the kernel.
  void flush();
  /// Writes what may leave. One that takes nothing more is made ready, to tell of its end.
  void write(Connection& connection);
  /// Tells of room on links that were full.
  void offer_room(Transport::Sink& sink);
  /// There is something to tell by offer_room().
  bool has_room_to_offer() const { return !roomy_.empty(); }

 private:
  ConnectionTable& table_;
  Watch& watch_;
  const std::size_t most_waiting_;
  std::vector<LinkId> batched_;  // Have frames that leave together.
  std::deque<LinkId> roomy_;     // Were full, and have room now.
};

}  // namespace stretto::tcp
