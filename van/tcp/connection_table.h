// SPDX-License-Identifier: Apache-2.0
// ConnectionTable: all connections of a transport by link id, and the queue of ready ones.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "van/tcp/connection.h"

namespace stretto::tcp {

/// Thread: loop.
class ConnectionTable {
 public:
  /// Null if there is no such connection.
  Connection* find(LinkId link) const {
    const auto found = connections_.find(link);
    return found == connections_.end() ? nullptr : found->second.get();
  }
  Connection& add(std::unique_ptr<Connection> connection) {
    const LinkId link = connection->link;
    return *(connections_[link] = std::move(connection));
  }
  /// Removes a connection; bury() frees its memory, as it may be on the call stack.
  void remove(const Connection& connection) {
    buried_.push_back(std::move(connections_.extract(connection.link).mapped()));
  }
  void bury() { buried_.clear(); }
  const std::unordered_map<LinkId, std::unique_ptr<Connection>>& all() const {
    return connections_;
  }

  /// The connection may have something to read.
  void make_ready(Connection& connection) {
    if (!std::exchange(connection.ready, true)) ready_.push_back(connection.link);
  }
  /// The number of ready connections; some may have been removed since.
  std::size_t ready() const { return ready_.size(); }
  /// Takes the ready mark of the first ready connection; null if it was removed. It stays first
  /// until end_turn(): after an exception in its turn it gets another without new data.
  Connection* begin_turn() const {
    Connection* const connection = find(ready_.front());
    if (connection != nullptr) connection->ready = false;
    return connection;
  }
  void end_turn() { ready_.pop_front(); }

 private:
  std::unordered_map<LinkId, std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> buried_;
  std::deque<LinkId> ready_;
};

}  // namespace stretto::tcp
