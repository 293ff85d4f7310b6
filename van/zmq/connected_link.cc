// SPDX-License-Identifier: Apache-2.0
// The states of a connected link: open, ending after the monitor's event, over once reported.
#include "van/zmq/connected_link.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "common/memory.h"
#include "common/network/network.h"
#include "common/process/oom_handler.h"
#include "van/transport/tcp_info.h"
#include "van/transport/tcp_sockets.h"
#include "van/zmq/mechanism.h"

namespace stretto::zmq {
namespace {

// CLOSED reports a failed attempt to connect; CONNECT_RETRIED also that none was possible.
constexpr int kNotConnected = ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED;

// The id is unique. A ROUTER ignores a second connection of one id.
void set_routing_id(ZmqSocket& socket) {
  std::array<unsigned char, 16> id{};
  STRETTO_CHECK(::getrandom(id.data(), id.size(), 0) == static_cast<ssize_t>(id.size()));
  id[0] |= 1;  // Ids that begin with a zero byte are libzmq's own.
  socket.set_bytes(ZMQ_ROUTING_ID, id.data(), id.size());
}

void configure(ZmqSocket& socket, const ZmqOptions& options, bool local) {
  socket.set(ZMQ_LINGER, 0);
  socket.set(ZMQ_IPV6, 1);
  if (local) socket.set(ZMQ_SNDBUF, kLocalSendBuffer);
  socket.set(ZMQ_SNDHWM, options.queue_frames);
  socket.set(ZMQ_RCVHWM, options.queue_frames);
  socket.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(most_part_bytes(options.max_payload_bytes)));
  socket.set(ZMQ_HANDSHAKE_IVL, milliseconds(options.handshake_timeout));
  socket.set(ZMQ_CONNECT_TIMEOUT, milliseconds(options.connect_timeout));
  // Not -1, "never": that drops unread messages when a connection ends, and reports nothing when no
  // descriptor is left for an attempt.
  socket.set(ZMQ_RECONNECT_IVL, std::numeric_limits<int>::max());
  // Our hello tells the peer's ROUTER the link and its descriptor before any frame.
  socket.set(ZMQ_PROBE_ROUTER, 1);
  set_routing_id(socket);
  socket.keep_alive();
  set_dialer_keys(socket, options);
}

Status not_connected(const std::string& address, std::string_view cause,
                     Code code = Code::kNetwork) {
  return {code, fmt::format("no connection to {} could be made: {}; check that it is up, and the "
                            "address",
                            address, cause)};
}

// libzmq closes connections for which it has no memory, without an event.
Status connection_ended(const std::string& address) {
  if (memory_is_short()) {
    return {Code::kResource, fmt::format("the connection to {} has ended, and memory is short: {}",
                                         address, memory_at_hand())};
  }
  return {Code::kLinkBroken, fmt::format("the connection to {} has ended", address)};
}

// libzmq also reports a failed handshake if CURVE finds a modified message later. Another link
// recovers the lost messages.
Status bytes_changed(const std::string& address) {
  return {Code::kLinkBroken,
          fmt::format("what {} sent was changed or repeated on the way", address)};
}

// libzmq does not report why the kernel failed to connect, so this tries again briefly. A host that
// has just refused answers immediately.
int connect_error(const SocketAddress& to) {
  constexpr int kMostMilliseconds = 20;
  const Result<PendingConnect> begun = begin_connect(to);
  if (!begun.ok()) return 0;
  if (begun->error != 0) return begun->error;
  pollfd waited{.fd = begun->socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&waited, 1, kMostMilliseconds) != 1) return 0;
  return connect_outcome(begun->socket.get()).value_or(0);
}

}  // namespace

int milliseconds(Duration duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, std::numeric_limits<int>::max()));
}

ConnectedLink::ConnectedLink(LinkId link, std::string address, const ZmqOptions& options,
                             ZmqSocket socket, Monitor monitor)
    : link_(link),
      address_(std::move(address)),
      mechanism_(options.mechanism),
      socket_(std::move(socket)),
      monitor_(std::move(monitor)),
      reader_(false, options.max_payload_bytes),
      batch_(is_own_host(address_)),
      local_(is_own_host(address_)) {}

Result<std::unique_ptr<ConnectedLink>> ConnectedLink::open(const ZmqContext& context,
                                                           const ZmqOptions& options, LinkId link,
                                                           std::string_view address) {
  const std::string wanted = fmt::format("wanted to connect to '{}'", address);
  // The socket, both ends of its monitor and the connection.
  if (Status status = need_descriptors(4, wanted); !status.ok()) return status;
  Result<ZmqSocket> socket = ZmqSocket::open(context, ZMQ_DEALER);
  if (!socket.ok()) return socket.status();
  configure(*socket, options, is_own_host(address));
  Result<Monitor> monitor =
      Monitor::attach(context, *socket,
                      ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                          kNotConnected | kHandshakeFailed,
                      fmt::format("link-{}", link));
  if (!monitor.ok()) return monitor.status();
  std::unique_ptr<ConnectedLink> made(new ConnectedLink(link, std::string(address), options,
                                                        *std::move(socket), *std::move(monitor)));
  return made;
}

// libzmq would prefer an IPv6 address, and block all links while it resolves a name.
Status ConnectedLink::dial(const SocketAddress& to) {
  to_ = to;
  if (zmq_connect(socket_.get(), ("tcp://" + to.text()).c_str()) == 0) return {};
  return zmq_failure(fmt::format("wanted to connect to '{}'", address_), zmq_errno());
}

void ConnectedLink::dial_found(const Result<SocketAddress>& found) {
  Status status = found.ok() ? dial(*found) : not_connected(address_, found.status().cause());
  if (!status.ok()) end(std::move(status));
}

Turn ConnectedLink::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  while (!over() && turn.frames < limit) {
    const Shape shape = reader_.next(socket_, in_);
    if (shape == Shape::kNothing) {
      if (is_ending()) {
        report(sink, turn);
      } else {
        offer_room(sink, turn);
      }
      return turn;
    }
    progress_.count_message();
    if (shape == Shape::kFrame) {
      turn.called = true;
      turn.frames += static_cast<int>(in_.frames());
      deliver(sink);
      continue;
    }
    ++turn.frames;
    if (shape == Shape::kKeepAlive) continue;
    if (shape == Shape::kEmpty) {
      end({Code::kLinkBroken, fmt::format("{} has closed the link", address_)});
    } else {
      end({Code::kMalformed, fmt::format("{} sent a message that is no frame", address_)});
    }
    report(sink, turn);
  }
  offer_room(sink, turn);
  turn.more = !over();
  return turn;
}

void ConnectedLink::deliver(Transport::Sink& sink) {
  UnpackedFrames frames = frames_of(in_);
  wire::HeaderView header(in_.header.bytes().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!over() && frames.next(header, payload)) {
    sink.on_frame(link_, header, std::move(payload));
  }
}

void ConnectedLink::report(Transport::Sink& sink, Turn& turn) {
  state_ = State::kOver;
  turn.called = true;
  sink.on_broken(link_, std::move(why_));
}

void ConnectedLink::offer_room(Transport::Sink& sink, Turn& turn) {
  if (!full_ || state_ != State::kOpen || (socket_.events() & ZMQ_POLLOUT) == 0) return;
  full_ = false;
  flush();
  if (full_ || state_ != State::kOpen) return;
  turn.called = true;
  turn.more = true;  // The check made libzmq process its commands: there may be frames.
  sink.on_writable(link_);
}

Transport::Sent ConnectedLink::send(const wire::Header& header, const Buffer& payload) {
  using enum Transport::Sent;
  if (state_ != State::kOpen) return kBroken;
  if (full_) return kFull;
  if (FrameBatch::takes(payload)) {
    keep_alives_.note_frame();
    batch_.add(header, payload);
    if (batch_.full()) flush();
    return state_ == State::kOpen ? kTaken : kBroken;
  }
  flush();
  if (state_ != State::kOpen) return kBroken;
  if (full_) return kFull;
  keep_alives_.note_frame();
  const int error = send_frame(socket_, {}, header, payload);
  return error == 0 ? kTaken : failed(error);
}

void ConnectedLink::flush() {
  if (batch_.empty() || full_ || state_ != State::kOpen) return;
  if (const int error = send_batch(socket_, {}, batch_); error != 0) failed(error);
}

Transport::Sent ConnectedLink::failed(int error) {
  using enum Transport::Sent;
  if (error == EAGAIN) {
    full_ = true;
    return kFull;
  }
  end(connection_ended(address_));
  return kBroken;
}

bool ConnectedLink::has_come() const {
  if (over()) return false;
  const int wanted = ZMQ_POLLIN | (full_ ? ZMQ_POLLOUT : 0);
  return is_ending() || (socket_.events() & wanted) != 0;
}

void ConnectedLink::watch() {
  while (const auto event = monitor_.next()) {
    tried_ = tried_ || event->kind == ZMQ_EVENT_CLOSED;
    if (event->kind == ZMQ_EVENT_CONNECTED) {
      connection_ = event->value;
    } else if (event->kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      made_ = true;
    } else if (state_ != State::kOpen) {
      continue;
    } else if ((event->kind & kHandshakeFailed) != 0) {
      end(made_ ? bytes_changed(address_) : why_refused(*event, mechanism_, address_));
    } else if (event->kind == ZMQ_EVENT_DISCONNECTED) {
      end(made_ ? connection_ended(address_) : handshake_ended(mechanism_, address_));
    } else if (event->kind == ZMQ_EVENT_CONNECT_RETRIED) {
      end(why_not_connected());
    }
  }
}

// The descriptor is libzmq's, but libzmq notifies the monitor before it closes. So the sample is of
// the right connection if the link is still open afterwards.
void ConnectedLink::look_at_path(Time now, Duration dead_after) {
  std::optional<PathSample> signs = connection_ < 0 ? std::nullopt : path_signs(connection_);
  const std::optional<std::uint64_t> received = received_bytes_of(connection_);
  const std::uint64_t unread = unread_bytes_of(connection_);
  watch();
  if (!signs || state_ != State::kOpen) return;
  if (made_) signs->begun_at = progress_.begun_at(received, unread);
  Status status = liveness_.look(*signs, now, dead_after);
  if (status.ok()) {
    if (!full_ && keep_alives_.take()) send_keep_alive(socket_, {});
    return;
  }
  reset_when_closed(connection_);
  end({status.code(), fmt::format("{}: {}", address_, status.cause())});
}

std::optional<Transport::RoundTrips> ConnectedLink::round_trips() const {
  if (connection_ < 0 || state_ != State::kOpen) return std::nullopt;
  return round_trips_of(connection_);
}

Status ConnectedLink::why_not_connected() const {
  const int error = tried_ ? connect_error(to_) : 0;
  if (error == 0) return not_connected(address_, "its host does not answer");
  return not_connected(address_, std::strerror(error),
                       error == ECONNREFUSED ? Code::kRefused : Code::kNetwork);
}

void ConnectedLink::end(Status why) {
  if (state_ != State::kOpen) return;
  state_ = State::kEnding;
  why_ = std::move(why);
}

// Frames submitted just before, such as the reason for the end, may still leave.
void ConnectedLink::close() {
  constexpr int kLingerMilliseconds = 100;
  flush();
  if (state_ == State::kOpen && made_) socket_.set(ZMQ_LINGER, kLingerMilliseconds);
  state_ = State::kOver;
}

}  // namespace stretto::zmq
