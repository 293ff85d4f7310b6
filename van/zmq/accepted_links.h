// SPDX-License-Identifier: Apache-2.0
// AcceptedLinks: the links of those who connected to us. One ROUTER under all of them;
// ConnectionBook knows which connection is whose.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "common/clock.h"
#include "van/transport/path_liveness.h"
#include "van/transport/poll_turns.h"
#include "van/zmq/connection_watch.h"
#include "van/zmq/router_sender.h"

namespace stretto::zmq {

/// Thread: loop.
class AcceptedLinks {
 public:
  /// `links` outlives it.
  static Result<std::unique_ptr<AcceptedLinks>> open(const ZmqContext& context,
                                                     const ZmqOptions& options, LinkIds& links,
                                                     std::string_view address);
  ~AcceptedLinks() { watch_.monitor().stop_watching(socket_); }
  AcceptedLinks(const AcceptedLinks&) = delete;
  AcceptedLinks& operator=(const AcceptedLinks&) = delete;

  ConnectionWatch& connections() { return watch_; }
  const ConnectionWatch& connections() const { return watch_; }
  const ConnectionBook& book() const { return watch_.book(); }
  RouterSender& sender() { return sender_; }

  /// Delivers at most `limit` frames, and the ends of links once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  /// True if a message has come. libzmq hears what it was told.
  bool has_come() const { return (socket_.events() & ZMQ_POLLIN) != 0; }
  void close(LinkId link);
  /// Disconnects strangers that cost too much, and links that were closed a moment ago.
  void look_around();
  /// How long one may wait before look_around(), at most `wait`.
  Duration may_wait(Duration wait) const;
  bool lingers() const { return !closing_.empty(); }
  /// There are ends of links to report.
  bool has_ended() const { return book().has_ended() || !over_.empty(); }
  /// Breaks links whose paths are dead (PathLiveness).
  void look_at_paths(Time now, Duration dead_after);

  int descriptor() const { return socket_.descriptor(); }

 private:
  struct Closing {
    LinkId link;
    Time due;
  };

  AcceptedLinks(const ZmqOptions& options, LinkIds& links, ZmqSocket socket, Monitor monitor,
                ListeningPort port);
  void take(Transport::Sink& sink, Shape shape);
  AcceptedLink* introduce(Transport::Sink& sink, Shape shape);
  void ignore_stranger();
  void mute(Transport::Sink& sink, AcceptedLink& link);
  void shut(AcceptedLink& link);
  void report(Transport::Sink& sink, bool empty, Turn& turn);

  const std::size_t max_links_;
  LinkIds& links_;
  ZmqSocket socket_;
  ConnectionWatch watch_;
  RouterSender sender_;
  MessageReader reader_;
  ReceivedMessage in_;
  std::deque<LinkId> over_;      // Have ended, and are to be reported.
  std::deque<Closing> closing_;  // Were closed, and have yet to be shut.
  std::unordered_map<LinkId, PathLiveness> liveness_;
  const SteadyClock clock_;
};

}  // namespace stretto::zmq
