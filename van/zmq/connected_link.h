// SPDX-License-Identifier: Apache-2.0
// ConnectedLink: an outgoing link: a DEALER socket with one connection; its monitor reports the
// connection's end. libzmq would reconnect and lose frames in flight, so its reconnect interval is
// set to weeks, and the link ends long before.
#pragma once

#include <memory>
#include <string>

#include "common/network/socket_address.h"
#include "van/transport/path_liveness.h"
#include "van/transport/poll_turns.h"
#include "van/zmq/frame_format.h"
#include "van/zmq/keep_alives.h"
#include "van/zmq/monitor.h"
#include "van/zmq/options.h"
#include "van/zmq/receive_progress.h"

namespace stretto::zmq {

/// The kernel's send buffer for links to this host. The default grows in steps that stall a link of
/// several GB/s; for networks the kernel's own growth is kept.
inline constexpr int kLocalSendBuffer = 256 << 10;
/// Whole milliseconds for libzmq, rounded up.
int milliseconds(Duration duration);

/// Thread: loop.
class ConnectedLink {
 public:
  /// Opens a socket; dial() connects it. `address` is the peer's.
  static Result<std::unique_ptr<ConnectedLink>> open(const ZmqContext& context,
                                                     const ZmqOptions& options, LinkId link,
                                                     std::string_view address);
  ~ConnectedLink() { monitor_.stop_watching(socket_); }
  ConnectedLink(const ConnectedLink&) = delete;
  ConnectedLink& operator=(const ConnectedLink&) = delete;

  Status dial(const SocketAddress& to);
  /// To be called when a name has been resolved. Ends the link if the name has no address.
  void dial_found(const Result<SocketAddress>& found);

  /// Delivers at most `limit` frames, and the end of the link after all of its earlier frames.
  Turn receive(Transport::Sink& sink, int limit);
  Transport::Sent send(const wire::Header& header, const Buffer& payload);
  /// Submits the batch to libzmq.
  void flush();
  /// True if there is a message or an event to report. The call lets libzmq process its commands.
  bool has_come() const;
  /// Reads the monitor's events.
  void watch();
  /// Ends the link if its path is dead.
  void look_at_path(Time now, Duration dead_after);
  /// Stops delivery; submitted frames may still leave for a moment.
  void close();
  bool over() const { return state_ == State::kOver; }
  bool is_ending() const { return state_ == State::kEnding; }
  bool is_local() const { return local_; }
  bool is_made() const { return made_; }
  std::optional<Transport::RoundTrips> round_trips() const;

  int descriptor() const { return socket_.descriptor(); }
  int monitor_descriptor() const { return monitor_.descriptor(); }

 private:
  enum class State : std::uint8_t {
    kOpen,    ///< Connected or connecting.
    kEnding,  ///< The connection has ended; received frames are still delivered.
    kOver     ///< Reported, or closed by us.
  };

  ConnectedLink(LinkId link, std::string address, const ZmqOptions& options, ZmqSocket socket,
                Monitor monitor);
  Status why_not_connected() const;
  void end(Status why);
  void deliver(Transport::Sink& sink);
  void report(Transport::Sink& sink, Turn& turn);
  Transport::Sent failed(int error);
  void offer_room(Transport::Sink& sink, Turn& turn);

  const LinkId link_;
  const std::string address_;
  const ZmqMechanism mechanism_;
  ZmqSocket socket_;
  Monitor monitor_;
  MessageReader reader_;
  FrameBatch batch_;
  ReceivedMessage in_;
  State state_ = State::kOpen;
  Status why_;
  bool full_ = false;
  bool made_ = false;
  bool tried_ = false;  // libzmq had a socket for an attempt.
  SocketAddress to_;
  int connection_ = -1;  // libzmq's descriptor of the TCP connection.
  PathLiveness liveness_;
  ReceiveProgress progress_;
  KeepAlives keep_alives_;
  const bool local_;
};

}  // namespace stretto::zmq
