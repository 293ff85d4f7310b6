// SPDX-License-Identifier: Apache-2.0
// TcpLinks: the links that this end accepted and those that it connected. All of their
// sockets are the loop's own: no thread lies between (docs/decisions, 0055). A peer that has not
// been admitted may cost little, and all such peers together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/logged_count.h"
#include "van/tcp/batch_writer.h"
#include "van/tcp/connection_table.h"
#include "van/tcp/connector.h"
#include "van/tcp/listener.h"
#include "van/tcp/options.h"
#include "van/tcp/pending_connections.h"
#include "van/transport/epoll_set.h"
#include "van/transport/polled_clock.h"

namespace stretto::tcp {

/// Thread: loop.
class TcpLinks {
 public:
  /// The watch tells of connections by their links. It and the clock outlive this.
  TcpLinks(const TcpOptions& options, EpollSet& watch, const Clock& clock)
      : options_(options),
        watch_(watch),
        time_(clock, kMostBetweenPolls),
        writer_(table_, watch, static_cast<std::size_t>(options.queue_frames)),
        connector_(table_, watch, options),
        scratch_(kScratchBytes) {}
  ~TcpLinks();
  TcpLinks(const TcpLinks&) = delete;
  TcpLinks& operator=(const TcpLinks&) = delete;

  void listen(ListeningSocket listener) { listener_ = std::move(listener); }
  /// Where it listens, as others can connect to it; empty if it does not.
  std::string address() const { return listener_ ? listener_->address() : std::string(); }
  /// Links that were announced, or that we connected, and that have not ended.
  std::size_t size() const { return announced_; }
  /// Begins to connect; `address` is what `to` was read from. Resource if there is no socket.
  Result<LinkId> connect(const HostPort& to, std::string_view address);

  /// The watch reports this token: kListenerToken or a link.
  void notice(std::uint64_t token);
  /// True if receive() has something to do.
  bool has_ready() const { return table_.ready() > 0; }
  /// Delivers at most `limit` frames, and the ends of links once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  BatchWriter& writer() { return writer_; }
  void admit(LinkId link);
  void close(LinkId link);
  /// Null if there is none.
  const Connection* find(LinkId link) const { return table_.find(link); }

  /// Handles what no descriptor reports: names that have been looked up, connections that took too
  /// long to begin, and, once a second, pending connections past their timeout, or the oldest
  /// silent ones if there are too many.
  void look_around(Transport::Sink& sink);
  /// Breaks links whose paths are dead (PathLiveness).
  void look_at_paths(Transport::Sink& sink, Time now, Duration dead_after);
  /// Connections that are over, and may have been on the call stack until now.
  void bury() { table_.bury(); }

  /// How long one may wait for the watch, at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  static constexpr std::size_t kScratchBytes = 64 << 10;
  // A loop that has links polls twice a second (PathLiveness::interval).
  static constexpr Duration kMostBetweenPolls = 1s;

  void accept();
  void give_turn(Transport::Sink& sink, Connection& connection, int limit, Turn& turn);
  void take(Transport::Sink& sink, Connection& connection, MessageParser::Got got);
  void introduce(Transport::Sink& sink, Connection& connection);
  void refuse(Transport::Sink& sink, Connection& connection, Status why);
  void end_with(Transport::Sink& sink, Connection& connection, Status why);
  void end(Connection& connection);
  void close_pending(Transport::Sink& sink, Time now);

  const TcpOptions options_;
  EpollSet& watch_;
  PolledClock time_;
  LinkIds ids_;
  std::optional<ListeningSocket> listener_;
  ConnectionTable table_;
  BatchWriter writer_;
  TcpConnector connector_;
  std::vector<std::byte> scratch_;
  PendingConnections pending_;
  std::size_t announced_ = 0;
  LoggedCount refused_;
  Time next_look_;
};

}  // namespace stretto::tcp
