// SPDX-License-Identifier: Apache-2.0
// AcceptedLinks: the links of peers that connected to us. One ROUTER socket carries all of them;
// ConnectionBook maps connections to links.
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
  /// `links` must outlive it.
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

  /// Delivers at most `limit` frames, and the end of a link after all of its earlier frames.
  Turn receive(Transport::Sink& sink, int limit);
  /// True if a message has arrived. The call lets libzmq process its pending commands.
  bool has_come() const { return (socket_.events() & ZMQ_POLLIN) != 0; }
  void close(LinkId link);
  /// Disconnects pending connections that exceed the limits, and links that were closed recently.
  void look_around();
  /// How long the caller may wait before look_around(), at most `wait`.
  Duration may_wait(Duration wait) const;
  bool lingers() const { return !closing_.empty(); }
  /// Ends of links are waiting to be reported.
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
  std::deque<LinkId> over_;      // Ended links that wait to be reported.
  std::deque<Closing> closing_;  // Closed links that wait to be shut down.
  std::unordered_map<LinkId, PathLiveness> liveness_;
  const SteadyClock clock_;
};

}  // namespace stretto::zmq
