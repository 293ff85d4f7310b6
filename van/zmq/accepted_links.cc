// SPDX-License-Identifier: Apache-2.0
// Messages at the ROUTER: frames of links, first messages of new links, and invalid ones.
#include "van/zmq/accepted_links.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/log.h"
#include "common/network/network.h"
#include "van/transport/tcp_info.h"
#include "van/zmq/connected_link.h"
#include "van/zmq/mechanism.h"

namespace stretto::zmq {
namespace {

constexpr Duration kUntilShut = 50ms;

void configure(ZmqSocket& socket, const ZmqOptions& options) {
  socket.set(ZMQ_LINGER, 0);
  socket.set(ZMQ_IPV6, 1);
  socket.set(ZMQ_ROUTER_MANDATORY, 1);
  socket.set(ZMQ_SNDHWM, options.queue_frames);
  socket.set(ZMQ_RCVHWM, options.queue_frames);
  socket.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(most_part_bytes(options.max_payload_bytes)));
  socket.set(ZMQ_HANDSHAKE_IVL, milliseconds(options.handshake_timeout));
  // One I/O thread for all accepted connections: then ACCEPTED is reported before any message.
  socket.set<std::uint64_t>(ZMQ_AFFINITY, 1);
  socket.keep_alive();
  set_listener_keys(socket, options);
}

Status is_no_frame(const AcceptedLink& link) {
  return {Code::kMalformed, fmt::format("{} sent a message that is no frame", link.address)};
}

// For links without a sure descriptor: a Stretto peer closes the link itself.
void say_goodbye(ZmqSocket& socket, std::string_view id) {
  if (socket.send(id, true) == 0) socket.send(std::string_view(), false);
}

}  // namespace

AcceptedLinks::AcceptedLinks(const ZmqOptions& options, LinkIds& links, ZmqSocket socket,
                             Monitor monitor, ListeningPort port)
    : max_links_(options.max_links),
      links_(links),
      socket_(std::move(socket)),
      watch_(options, std::move(monitor), std::move(port)),
      sender_(socket_, watch_.book()),
      reader_(true, options.max_payload_bytes) {}

Result<std::unique_ptr<AcceptedLinks>> AcceptedLinks::open(const ZmqContext& context,
                                                           const ZmqOptions& options,
                                                           LinkIds& links,
                                                           std::string_view address) {
  Result<ListeningPort> port = ListeningPort::open(address);
  if (!port.ok()) return port.status();
  // The socket, both ends of its monitor, the port and a first connection.
  Status status = need_descriptors(5, fmt::format("wanted to listen at '{}'", address));
  if (!status.ok()) return status;
  Result<ZmqSocket> socket = ZmqSocket::open(context, ZMQ_ROUTER);
  if (!socket.ok()) return socket.status();
  configure(*socket, options);
  // A unique name: a failed attempt's name is taken until libzmq has closed its socket.
  Result<Monitor> monitor = Monitor::attach(
      context, *socket, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | kHandshakeFailed,
      fmt::format("listener-{}", links.next()));
  if (!monitor.ok()) return monitor.status();
  std::unique_ptr<AcceptedLinks> made(
      new AcceptedLinks(options, links, *std::move(socket), *std::move(monitor), *std::move(port)));
  status = made->watch_.accept_by(made->socket_);
  if (!status.ok()) return status;
  return made;
}

Turn AcceptedLinks::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  while (turn.frames < limit) {
    const Shape shape = reader_.next(socket_, in_);
    if (shape == Shape::kNothing) {
      watch_.note_empty();
      report(sink, true, turn);
      return turn;
    }
    turn.frames += shape == Shape::kFrame ? static_cast<int>(in_.frames()) : 1;
    turn.called = true;
    if (shape != Shape::kRemains) take(sink, shape);
  }
  report(sink, false, turn);
  turn.more = true;
  return turn;
}

void AcceptedLinks::take(Transport::Sink& sink, Shape shape) {
  AcceptedLink* link = watch_.book().find(in_.id.text());
  if (link != nullptr && link->descriptor != in_.header.descriptor()) {
    // Another connection has its id, so this connection has ended.
    watch_.read_events();
    if (watch_.book().is_current(link->descriptor)) watch_.book().disconnected(link->descriptor);
    watch_.book().end(
        *link, {Code::kLinkBroken,
                fmt::format("another connection came in place of that from {}", link->address)});
    link = nullptr;
  }
  const bool first = link == nullptr;
  if (first) {
    if (watch_.book().is_gone(in_.id.text())) return;
    link = introduce(sink, shape);
    if (link == nullptr) return;
  }
  watch_.book().heard(*link);
  link->progress.count_message();
  if (link->muted) return shut(*link);
  if (shape == Shape::kEmpty && first) return;
  if (shape == Shape::kKeepAlive) return;
  if (shape != Shape::kFrame) return mute(sink, *link);
  UnpackedFrames frames = frames_of(in_);
  wire::HeaderView header(in_.header.bytes().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!link->muted && frames.next(header, payload)) {
    sink.on_frame(link->link, header, std::move(payload));
  }
}

AcceptedLink* AcceptedLinks::introduce(Transport::Sink& sink, Shape shape) {
  const int descriptor = in_.header.descriptor();
  if (descriptor < 0 || watch_.book().links().size() >= max_links_) {
    ignore_stranger();
    return nullptr;
  }
  watch_.read_events();  // So that later events of this descriptor are about this link.
  AcceptedLink& link =
      watch_.book().add(links_.next(), in_.id.text(), descriptor, in_.header.peer_address());
  link.local = is_own_host(link.address);
  link.batch = FrameBatch(link.local);
  if (shape == Shape::kMalformed || shape == Shape::kKeepAlive) {
    link.muted = true;
    watch_.refuse(fmt::format("{}: its first message was no frame", link.address));
  } else {
    sink.on_link(link.link);
  }
  return &link;
}

// Pending connections cost no memory here.
void AcceptedLinks::ignore_stranger() {
  watch_.refuse(
      fmt::format("{}: there are as many links as there may be, or it is no TCP connection",
                  in_.header.peer_address()));
  const int descriptor = in_.header.descriptor();
  watch_.read_events();
  if (watch_.book().is_current(descriptor)) {
    watch_.shut(descriptor);
  } else {
    say_goodbye(socket_, in_.id.text());
  }
}

void AcceptedLinks::mute(Transport::Sink& sink, AcceptedLink& link) {
  link.muted = true;
  Status why = is_no_frame(link);
  watch_.refuse(fmt::format("{}: {}", link.address, why.cause()));
  shut(link);
  sink.on_broken(link.link, std::move(why));
}

void AcceptedLinks::shut(AcceptedLink& link) {
  if (link.ended || link.shut) return;
  if (link.sure) {
    link.shut = true;
    watch_.shut(link.descriptor);
  } else if (!std::exchange(link.told, true)) {
    say_goodbye(socket_, link.id);
  }
}

void AcceptedLinks::report(Transport::Sink& sink, bool empty, Turn& turn) {
  for (const LinkId link : watch_.book().take_ended(empty)) over_.push_back(link);
  while (!over_.empty()) {
    const std::unique_ptr<AcceptedLink> link = watch_.book().remove(over_.front());
    over_.pop_front();
    liveness_.erase(link->link);
    if (link->muted) continue;
    turn.called = true;
    sink.on_broken(link->link, std::move(link->why));
  }
}

// Frames submitted just before, such as the reason for the end, may still leave.
void AcceptedLinks::close(LinkId number) {
  AcceptedLink* link = watch_.book().find_link(number);
  if (link == nullptr || link->muted) return;
  sender_.flush(*link);
  link->muted = true;
  closing_.push_back({number, clock_.now() + kUntilShut});
}

void AcceptedLinks::look_around() {
  const Time now = clock_.now();
  while (!closing_.empty() && closing_.front().due <= now) {
    AcceptedLink* link = watch_.book().find_link(closing_.front().link);
    closing_.pop_front();
    if (link == nullptr) continue;
    watch_.read_events();
    shut(*link);
  }
  watch_.look_around(now);
}

Duration AcceptedLinks::may_wait(Duration wait) const {
  if (!closing_.empty()) wait = std::min(wait, kUntilShut);
  return watch_.may_wait(sender_.may_wait(wait));
}

void AcceptedLinks::look_at_paths(Time now, Duration dead_after) {
  struct Seen {
    LinkId link;
    PathSample signs;
    std::optional<std::uint64_t> received_bytes;
    std::uint64_t unread_bytes;
  };
  std::vector<Seen> seen;
  for (const auto& [number, link] : watch_.book().links()) {
    if (link->muted || link->ended || !link->sure) continue;
    if (const auto signs = path_signs(link->descriptor)) {
      seen.push_back(
          {number, *signs, received_bytes_of(link->descriptor), unread_bytes_of(link->descriptor)});
    }
  }
  watch_.read_events();  // The samples are of the right connection if the link is still open
                         // after this.
  for (auto& [number, signs, received_bytes, unread_bytes] : seen) {
    AcceptedLink& link = *watch_.book().find_link(number);
    if (link.ended) continue;
    signs.begun_at = link.progress.begun_at(received_bytes, unread_bytes);
    const Status status = liveness_[number].look(signs, now, dead_after);
    if (status.ok()) {
      if (!link.full && link.keep_alives.take()) send_keep_alive(socket_, link.id);
      continue;
    }
    reset_when_closed(link.descriptor);
    shut(link);
    watch_.book().end(link, {status.code(), fmt::format("{}: {}", link.address, status.cause())});
  }
}

}  // namespace stretto::zmq
