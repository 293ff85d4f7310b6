// SPDX-License-Identifier: Apache-2.0
// BatchWriter: sends frames over connections. Small frames leave together at the next flush. Others
// leave immediately as far as the kernel takes them, and the rest when there is room.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "van/tcp/connection_table.h"
#include "van/transport/epoll_set.h"

namespace stretto::tcp {

/// Thread: loop. Table and watch must outlive it.
class BatchWriter {
 public:
  /// A connection that holds `most_waiting` messages is full, until it holds half of them.
  BatchWriter(ConnectionTable& table, EpollSet& watch, std::size_t most_waiting)
      : table_(table), watch_(watch), most_waiting_(most_waiting) {}

  Transport::Sent send(LinkId link, const wire::Header& header, const Buffer& payload);
  /// Hands all batches to the kernel.
  void flush();
  /// Writes what the kernel takes. Makes a failed connection ready, so that the sink is told of its
  /// end.
  void write(Connection& connection);
  /// Calls on_writable for links that were full.
  void offer_room(Transport::Sink& sink);
  /// True if offer_room() would call the sink.
  bool has_room_to_offer() const { return !roomy_.empty(); }

 private:
  ConnectionTable& table_;
  EpollSet& watch_;
  const std::size_t most_waiting_;
  std::vector<LinkId> batched_;  // Links with a batch.
  std::deque<LinkId> roomy_;     // Links that were full.
};

}  // namespace stretto::tcp
