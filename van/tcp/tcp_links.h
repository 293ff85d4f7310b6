// SPDX-License-Identifier: Apache-2.0
// TcpLinks: the accepted and outgoing links. The loop owns all of their sockets, without another
// thread (docs/decisions, 0055). Pending connections are limited singly and together.
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
  /// The watch reports connections by link id. Watch and clock must outlive this.
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
  /// The listening address for peers; empty if it does not listen.
  std::string address() const { return listener_ ? listener_->address() : std::string(); }
  /// Links that were announced or that we connected, and that have not ended.
  std::size_t size() const { return announced_; }
  /// Starts to connect; `address` is the text of `to`. kResource if there is no socket.
  Result<LinkId> connect(const HostPort& to, std::string_view address);

  /// The watch reports this token: kListenerToken or a link.
  void notice(std::uint64_t token);
  /// True if receive() has work.
  bool has_ready() const { return table_.ready() > 0; }
  /// Delivers at most `limit` frames, and the ends of links after all of their earlier frames.
  Turn receive(Transport::Sink& sink, int limit);
  BatchWriter& writer() { return writer_; }
  void admit(LinkId link);
  void close(LinkId link);
  /// Null if there is no such link.
  const Connection* find(LinkId link) const { return table_.find(link); }

  /// Handles what no descriptor reports: resolved names, connections past their timeout, and, once
  /// a second, pending connections past their timeout, or the oldest silent ones if there are too
  /// many.
  void look_around(Transport::Sink& sink);
  /// Breaks links whose paths are dead (PathLiveness).
  void look_at_paths(Transport::Sink& sink, Time now, Duration dead_after);
  /// Frees connections that have ended, which may have been on the call stack.
  void bury() { table_.bury(); }

  /// How long the caller may wait for the watch, at most `wait`.
  Duration may_wait(Duration wait) const;

 private:
  static constexpr std::size_t kScratchBytes = 64 << 10;
  // A loop with links polls twice a second (PathLiveness::interval).
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
