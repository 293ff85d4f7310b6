// SPDX-License-Identifier: Apache-2.0
// Dialer: the connections that we begin, until both ends have greeted: names are looked up, TCP
// connects, both ends greet, and each may take some time.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/config.h"
#include "van/tcp/connection_table.h"
#include "van/tcp/name_lookup.h"
#include "van/tcp/options.h"
#include "van/watch.h"

namespace stretto::tcp {

/// Thread: loop. Table and watch outlive it.
class Dialer {
 public:
  Dialer(ConnectionTable& table, Watch& watch, const TcpOptions& options)
      : table_(table), watch_(watch), options_(options) {}

  /// Puts a connection that has begun into the table; if it has failed at once it is ready, to
  /// tell. Resource if there is no socket. `address` is what `to` was read from.
  Status connect(LinkId link, const HostPort& to, std::string_view address, Time now);
  /// The watch has told of one that connects. True if it is to be written to.
  bool go_on(Connection& connection, Time now);
  /// It has ended.
  void forget(LinkId link) { std::erase(beginners_, link); }

  /// Goes on with those whose names have been looked up.
  void end_lookups(Time now);
  /// Those that took too long, and what is to be told of each.
  std::vector<std::pair<LinkId, Status>> late(Time now);

 private:
  /// The name of a link's far end.
  struct Lookup {
    LinkId link = 0;
    std::unique_ptr<NameLookup> name;
  };

  Status dial_by(Connection& connection, const SocketAddress& to);

  ConnectionTable& table_;
  Watch& watch_;
  const TcpOptions options_;
  std::vector<Lookup> lookups_;
  std::vector<LinkId> beginners_;  // That are not open yet, as far as late() has seen.
};

/// What is told of a far end that does not greet as a Stretto node does.
Status no_node(const Connection& connection);

}  // namespace stretto::tcp
