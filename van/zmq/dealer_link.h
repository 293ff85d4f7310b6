// SPDX-License-Identifier: Apache-2.0
// DealerLink: a link that we connected. One DEALER with one connection under it; its monitor says
// when that ends. libzmq would connect again in silence and lose what was in flight, so it is told
// to wait for weeks before it does, and the link is over long before.
#pragma once

#include <memory>
#include <string>

#include "van/tcp_path.h"
#include "van/zmq/batch.h"
#include "van/zmq/monitor.h"
#include "van/zmq/options.h"

namespace stretto::zmq {

/// Thread: loop.
class DealerLink {
 public:
  static Result<std::unique_ptr<DealerLink>> connect(const Context& context,
                                                     const ZmqOptions& options, LinkId link,
                                                     std::string_view address);

  ~DealerLink() { monitor_.stop_watching(socket_); }  // A handful of events: they have fitted.

  /// Delivers at most `limit` frames, and the end of the link once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  Transport::Sent send(const wire::Header& header, const Buffer& payload);
  /// Hands what waits to leave together to libzmq; true if there was something.
  bool flush();
  /// Reads what the monitor has to say; true if the link is ending.
  bool watch();
  /// Ends the link if its path is dead; true if the link is ending.
  bool look_at_path(Time now, Duration dead_after);
  /// Nothing is delivered any more.
  void close() { state_ = State::kOver; }
  bool over() const { return state_ == State::kOver; }
  bool is_local() const { return local_; }

  int descriptor() const { return socket_.descriptor(); }
  int monitor_descriptor() const { return monitor_.descriptor(); }

 private:
  enum class State : std::uint8_t {
    kOpen,    ///< Connected or connecting.
    kEnding,  ///< The connection has ended; what it brought is still delivered.
    kOver     ///< Reported, or closed by us.
  };

  DealerLink(LinkId link, std::string address, std::size_t max_payload_bytes, Socket socket,
             Monitor monitor);
  Status connection_ended() const;
  void end(Status why);
  void deliver(Transport::Sink& sink);
  void report(Transport::Sink& sink, Turn& turn);
  Transport::Sent failed(int error);
  void offer_room(Transport::Sink& sink, Turn& turn);

  LinkId link_;
  std::string address_;
  Socket socket_;
  Monitor monitor_;
  FrameReader reader_;
  MessageBatch batch_;
  Incoming in_;
  State state_ = State::kOpen;
  Status why_;
  bool full_ = false;
  int connection_ = -1;  // The descriptor of the TCP connection, which is libzmq's.
  LinkLiveness liveness_;
  const bool local_;
};

}  // namespace stretto::zmq
