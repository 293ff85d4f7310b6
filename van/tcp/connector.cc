// SPDX-License-Identifier: Apache-2.0
// From an address to an open connection.
#include "van/tcp/connector.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "van/transport/tcp_info.h"
#include "van/transport/tcp_sockets.h"

namespace stretto::tcp {
namespace {

using Stage = Connection::Stage;

Status not_connected(const Connection& connection, std::string_view cause,
                     Code code = Code::kNetwork) {
  return {code, fmt::format("no connection to {} could be made: {}; check that it is "
                            "up, and the address",
                            connection.address, cause)};
}

Status refusal(const Connection& connection, int error) {
  return not_connected(connection, std::strerror(error),
                       error == ECONNREFUSED ? Code::kRefused : Code::kNetwork);
}

}  // namespace

Status no_node(const Connection& connection) {
  return {Code::kNetwork, fmt::format("what answers at {} does not speak as a Stretto node "
                                      "does, or too slowly; check the address",
                                      connection.address)};
}

Status TcpConnector::connect(LinkId link, const HostPort& to, std::string_view address, Time now) {
  auto connection = std::make_unique<Connection>(link, address, now, options_.max_payload_bytes);
  if (const auto digits = SocketAddress::from_digits(to.host, to.port)) {
    if (Status status = dial_by(*connection, *digits); !status.ok()) return status;
  } else {
    Status status = lookups_.begin(link, to, [this] { watch_.wake(); });
    if (!status.ok()) return status;
  }
  beginners_.push_back(link);
  Connection& begun = table_.add(std::move(connection));
  if (begun.broken) table_.make_ready(begun);
  return {};
}

Status TcpConnector::dial_by(Connection& connection, const SocketAddress& to) {
  Result<PendingConnect> dialed = begin_connect(to);
  if (!dialed.ok()) return dialed.status();
  if (connection.local) enlarge_send_buffer(dialed->socket.get());
  keep_alive(dialed->socket.get());
  if (dialed->error != 0) {
    connection.fail(refusal(connection, dialed->error));
    return {};
  }
  Status status = watch_.add(dialed->socket.get(), connection.link);
  if (!status.ok()) return status;
  connection.connect_by(std::move(dialed->socket));
  connection.writes = true;
  watch_.want_room(connection.descriptor(), connection.link, true);
  return {};
}

void TcpConnector::end_lookups(Time now) {
  for (const auto& [link, found] : lookups_.take_done()) {
    Connection* connection = table_.find(link);
    if (connection == nullptr) continue;  // Closed in the meantime.
    Status status = found.status();
    if (status.ok()) {
      connection->since = now;
      status = dial_by(*connection, *found);
    }
    // A resource shortage of this process says nothing about the peer.
    const bool ours = status.code() == Code::kResource;
    if (!status.ok()) connection->fail(ours ? status : not_connected(*connection, status.cause()));
    if (connection->broken) table_.make_ready(*connection);
  }
}

bool TcpConnector::go_on(Connection& connection, Time now) {
  const std::optional<int> error = connect_outcome(connection.descriptor());
  if (!error) return false;
  if (*error == 0) {
    connection.greet(now);
    return true;
  }
  connection.fail(refusal(connection, *error));
  table_.make_ready(connection);
  return false;
}

std::vector<std::pair<LinkId, Status>> TcpConnector::late(Time now) {
  std::erase_if(beginners_,
                [this](LinkId link) { return table_.find(link)->stage() == Stage::kOpen; });
  std::vector<std::pair<LinkId, Status>> found;
  for (const LinkId link : beginners_) {
    const Connection& connection = *table_.find(link);
    const Duration spent = now - connection.since;
    if (connection.stage() == Stage::kGreeting && spent >= options_.greeting_timeout) {
      found.emplace_back(link, no_node(connection));
    } else if (connection.stage() == Stage::kConnecting && spent >= options_.connect_timeout) {
      found.emplace_back(link, not_connected(connection, "nobody answers"));
    }
  }
  return found;
}

}  // namespace stretto::tcp
