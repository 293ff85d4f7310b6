// SPDX-License-Identifier: Apache-2.0
// ConnectedLink: a link that this end made. One DEALER with one connection under it; its monitor
// tells when the connection ends. libzmq would connect again and lose what was in flight, so it is
// told to wait for weeks before it does, and the link is over long before.
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

/// The kernel's send buffer towards this host. The default grows in steps that stall a link of
/// several GB/s; towards a network the kernel's own growth is left alone.
inline constexpr int kLocalSendBuffer = 256 << 10;
/// Whole milliseconds, rounded up, as libzmq takes them.
int milliseconds(Duration duration);

/// Thread: loop.
class ConnectedLink {
 public:
  /// With a socket; dial() connects it. `address` is of the far end.
  static Result<std::unique_ptr<ConnectedLink>> open(const ZmqContext& context,
                                                     const ZmqOptions& options, LinkId link,
                                                     std::string_view address);
  ~ConnectedLink() { monitor_.stop_watching(socket_); }
  ConnectedLink(const ConnectedLink&) = delete;
  ConnectedLink& operator=(const ConnectedLink&) = delete;

  Status dial(const SocketAddress& to);
  /// Once a name has been looked up. Ends the link where it has no address.
  void dial_found(const Result<SocketAddress>& found);

  /// Delivers at most `limit` frames, and the end of the link once all that came before has been.
  Turn receive(Transport::Sink& sink, int limit);
  Transport::Sent send(const wire::Header& header, const Buffer& payload);
  /// Submits what waits to leave together to libzmq.
  void flush();
  /// True if a message has come, or there is something to report. libzmq hears what it was told.
  bool has_come() const;
  /// Reads what the monitor has to say.
  void watch();
  /// Ends the link if its path is dead.
  void look_at_path(Time now, Duration dead_after);
  /// Nothing is delivered any more; what has been submitted may still leave, for a moment.
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
    kEnding,  ///< The connection has ended; what it brought is still delivered.
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
  bool tried_ = false;  // libzmq had a socket to connect by.
  SocketAddress to_;
  int connection_ = -1;  // The descriptor of the TCP connection, which is libzmq's.
  PathLiveness liveness_;
  ReceiveProgress progress_;
  KeepAlives keep_alives_;
  const bool local_;
};

}  // namespace stretto::zmq
