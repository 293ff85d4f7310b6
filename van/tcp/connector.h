// SPDX-License-Identifier: Apache-2.0
// TcpConnector: outgoing connections until both greetings have been exchanged. It resolves names,
// connects, waits for the greeting, and gives each step a timeout.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/config/config.h"
#include "van/tcp/connection_table.h"
#include "van/tcp/options.h"
#include "van/transport/epoll_set.h"
#include "van/transport/resolver.h"

namespace stretto::tcp {

/// Thread: loop. Table and watch must outlive it.
class TcpConnector {
 public:
  TcpConnector(ConnectionTable& table, EpollSet& watch, const TcpOptions& options)
      : table_(table), watch_(watch), options_(options) {}

  /// Adds a new connection to the table. If it fails immediately it is made ready, so that the sink
  /// is told of its end. kResource if there is no socket. `address` is the text of `to`.
  Status connect(LinkId link, const HostPort& to, std::string_view address, Time now);
  /// To be called when the watch reports a connecting socket. True if its greeting can leave now.
  bool go_on(Connection& connection, Time now);
  /// The link has ended.
  void forget(LinkId link) { std::erase(beginners_, link); }

  /// Connects to the names that have been resolved.
  void end_lookups(Time now);
  /// Links that have timed out, and the reason for each.
  std::vector<std::pair<LinkId, Status>> late(Time now);

 private:
  Status dial_by(Connection& connection, const SocketAddress& to);

  ConnectionTable& table_;
  EpollSet& watch_;
  const TcpOptions options_;
  NameLookups lookups_;
  std::vector<LinkId> beginners_;  // Not open yet, at the last late() call.
};

/// The error for a peer that does not greet as a Stretto node does.
Status no_node(const Connection& connection);

}  // namespace stretto::tcp
