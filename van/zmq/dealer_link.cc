// SPDX-License-Identifier: Apache-2.0
// The life of a connected link: open, ending once the monitor says so, over once reported.
#include "van/zmq/dealer_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "common/last_words.h"
#include "common/memory.h"
#include "common/network.h"
#include "van/zmq/address.h"

namespace stretto::zmq {
namespace {

constexpr int kHandshakeFailed = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
// CLOSED says that a try to connect failed; CONNECT_RETRIED also that none could be made.
constexpr int kNotConnected = ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED;

void configure(Socket& socket, const ZmqOptions& options, bool local) {
  socket.set(ZMQ_LINGER, 0);
  if (local) socket.set(ZMQ_SNDBUF, kLocalSendBuffer);
  socket.set(ZMQ_SNDHWM, options.queue_frames);
  socket.set(ZMQ_RCVHWM, options.queue_frames);
  socket.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(most_part_bytes(options.max_payload_bytes)));
  socket.set(ZMQ_HANDSHAKE_IVL, milliseconds(options.greeting_timeout));
  socket.set(ZMQ_CONNECT_TIMEOUT, milliseconds(options.connect_timeout));
  // Not -1, "never": that drops what has come but has not been read when a connection ends, and
  // says nothing at all when no descriptor is left for a try.
  socket.set(ZMQ_RECONNECT_IVL, std::numeric_limits<int>::max());
  // Our hello makes the far end know the link, and which descriptor is its, before any frame.
  socket.set(ZMQ_PROBE_ROUTER, 1);
  socket.keep_alive();
}

}  // namespace

DealerLink::DealerLink(LinkId link, std::string address, std::size_t max_payload_bytes,
                       Socket socket, Monitor monitor)
    : link_(link),
      address_(std::move(address)),
      socket_(std::move(socket)),
      monitor_(std::move(monitor)),
      reader_(max_payload_bytes),
      batch_(is_own_host(address_)),
      local_(is_own_host(address_)) {}

Result<std::unique_ptr<DealerLink>> DealerLink::connect(const Context& context,
                                                        const ZmqOptions& options, LinkId link,
                                                        std::string_view address) {
  const Result<std::string> endpoint = to_connect(address);
  if (!endpoint.ok()) return endpoint.status();
  // The socket, both ends of its monitor and the connection.
  Status status = need_descriptors(4, fmt::format("wanted to connect to '{}'", address));
  if (!status.ok()) return status;
  Result<Socket> socket = Socket::open(context, ZMQ_DEALER);
  if (!socket.ok()) return socket.status();
  configure(*socket, options, is_own_host(address));
  Result<Monitor> monitor = Monitor::attach(
      context, *socket,
      ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | kNotConnected | kHandshakeFailed,
      fmt::format("link-{}", link));
  if (!monitor.ok()) return monitor.status();
  if (zmq_connect(socket->get(), endpoint->c_str()) != 0) {
    return failure(fmt::format("wanted to connect to '{}'", address), zmq_errno());
  }
  return std::unique_ptr<DealerLink>(new DealerLink(link, std::string(address),
                                                    options.max_payload_bytes, *std::move(socket),
                                                    *std::move(monitor)));
}

Turn DealerLink::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  while (!over() && turn.frames < limit) {
    const Shape shape = reader_.next(socket_, in_);
    if (shape == Shape::kNothing) {
      if (state_ == State::kEnding) {
        report(sink, turn);
      } else {
        offer_room(sink, turn);
      }
      return turn;
    }
    if (shape == Shape::kFrame) {
      turn.called = true;
      turn.frames += static_cast<int>(in_.frames());
      deliver(sink);
      continue;
    }
    ++turn.frames;
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

void DealerLink::deliver(Transport::Sink& sink) {
  Unpacked frames(in_);
  wire::HeaderView header(in_.header.bytes().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!over() && frames.next(header, payload)) {
    sink.on_frame(link_, header, std::move(payload));
  }
}

void DealerLink::report(Transport::Sink& sink, Turn& turn) {
  state_ = State::kOver;
  turn.called = true;
  sink.on_broken(link_, std::move(why_));
}

void DealerLink::offer_room(Transport::Sink& sink, Turn& turn) {
  if (!full_ || state_ != State::kOpen || !socket_.writable()) return;
  full_ = false;
  flush();
  if (full_ || state_ != State::kOpen) return;
  turn.called = true;
  turn.more = true;  // Asking made libzmq hear what it had been told: there may be frames.
  sink.on_writable(link_);
}

Transport::Sent DealerLink::send(const wire::Header& header, const Buffer& payload) {
  using enum Transport::Sent;
  if (state_ != State::kOpen) return kBroken;
  if (full_) return kFull;
  if (MessageBatch::takes(payload)) {
    batch_.add(header, payload);
    if (batch_.full()) flush();
    return state_ == State::kOpen ? kTaken : kBroken;
  }
  flush();
  if (state_ != State::kOpen) return kBroken;
  if (full_) return kFull;
  const int error = send_frame(socket_, header, payload);
  return error == 0 ? kTaken : failed(error);
}

bool DealerLink::flush() {
  if (batch_.empty() || full_ || state_ != State::kOpen) return false;
  if (const int error = batch_.send(socket_); error != 0) failed(error);
  return true;
}

Transport::Sent DealerLink::failed(int error) {
  using enum Transport::Sent;
  if (error == EAGAIN) {
    full_ = true;
    return kFull;
  }
  end(connection_ended());
  return kBroken;
}

bool DealerLink::watch() {
  while (const auto event = monitor_.next()) {
    if ((event->kind & ZMQ_EVENT_CONNECTED) != 0) {
      connection_ = event->descriptor;
    } else if ((event->kind & kHandshakeFailed) != 0) {
      end({Code::kLinkBroken,
           fmt::format("what answers at {} does not speak as a Stretto node does, or too slowly; "
                       "check the address",
                       address_)});
    } else if ((event->kind & kNotConnected) != 0) {
      end({Code::kLinkBroken,
           fmt::format("no connection to {} could be made; check that it is up, and the address",
                       address_)});
    } else {
      end(connection_ended());
    }
  }
  return state_ == State::kEnding;
}

// The descriptor is libzmq's, but its monitor is told before it closes: so what was read is of the
// right connection if the link is still open after that.
bool DealerLink::look_at_path(Time now, Duration dead_after) {
  const std::optional<PathSigns> signs = connection_ < 0 ? std::nullopt : path_signs(connection_);
  if (watch() || !signs || state_ != State::kOpen) return state_ == State::kEnding;
  if (Status status = liveness_.look(*signs, now, dead_after); !status.ok()) {
    reset_when_closed(connection_);
    end({status.code(), fmt::format("{}: {}", address_, status.cause())});
  }
  return state_ == State::kEnding;
}

// libzmq ends connections that it has no memory for, and says nothing.
Status DealerLink::connection_ended() const {
  if (memory_is_short()) {
    return {Code::kResource, fmt::format("the connection to {} has ended, and memory is short: {}",
                                         address_, memory_at_hand())};
  }
  return {Code::kLinkBroken, fmt::format("the connection to {} has ended", address_)};
}

void DealerLink::end(Status why) {
  if (state_ != State::kOpen) return;
  state_ = State::kEnding;
  why_ = std::move(why);
}

}  // namespace stretto::zmq
