// SPDX-License-Identifier: Apache-2.0
// What comes to the ROUTER, sorted: frames of links, first words of new ones, and what is not ours.
#include "van/zmq/router_links.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "common/log.h"
#include "common/network.h"
#include "van/zmq/address.h"

namespace stretto::zmq {
namespace {

constexpr Duration kHangUpEvery = 1s;

// Events read at once: libzmq queues no more, so a full read leaves none that were there before it.
constexpr int kMaxEvents = 1 << 16;

// The number in a routing id that the ROUTER gave: a zero byte and four more. Ids that peers choose
// themselves can be chosen twice; none of ours does that.
std::optional<std::uint32_t> number_of(std::span<const std::byte> id) {
  if (id.size() != 5 || id[0] != std::byte{0}) return std::nullopt;
  std::uint32_t number = 0;
  std::memcpy(&number, id.data() + 1, sizeof number);
  return number;
}

std::array<std::byte, 5> id_of(std::uint32_t number) {
  std::array<std::byte, 5> id{};
  std::memcpy(id.data() + 1, &number, sizeof number);
  return id;
}

void configure(Socket& socket, const ZmqOptions& options) {
  socket.set(ZMQ_LINGER, 0);
  socket.set(ZMQ_ROUTER_MANDATORY, 1);
  socket.set(ZMQ_SNDHWM, options.queue_frames);
  socket.set(ZMQ_RCVHWM, options.queue_frames);
  socket.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(most_part_bytes(options.max_payload_bytes)));
  socket.set(ZMQ_HANDSHAKE_IVL, milliseconds(options.handshake_timeout));
  socket.set(ZMQ_BACKLOG, 1024);
  // All accepted connections in one I/O thread: then ACCEPTED is told before anything comes by it.
  socket.set<std::uint64_t>(ZMQ_AFFINITY, 1);
}

}  // namespace

RouterLinks::RouterLinks(const ZmqOptions& options, LinkIds& links, Socket socket, Monitor monitor)
    : options_(options),
      links_(links),
      socket_(std::move(socket)),
      monitor_(std::move(monitor)),
      reader_(true, options.max_payload_bytes) {}

Result<std::unique_ptr<RouterLinks>> RouterLinks::open(const Context& context,
                                                       const ZmqOptions& options, LinkIds& links) {
  // The socket, both ends of its monitor, the port and a first connection.
  Status status = need_descriptors(5, "wanted to listen");
  if (!status.ok()) return status;
  Result<Socket> socket = Socket::open(context, ZMQ_ROUTER);
  if (!socket.ok()) return socket.status();
  configure(*socket, options);
  // A name of its own: that of a try which failed is taken until libzmq has closed its socket.
  Result<Monitor> monitor =
      Monitor::attach(context, *socket, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED,
                      fmt::format("listener-{}", links.next()));
  if (!monitor.ok()) return monitor.status();
  return std::unique_ptr<RouterLinks>(
      new RouterLinks(options, links, *std::move(socket), *std::move(monitor)));
}

Status RouterLinks::bind(std::string_view address) {
  const Result<std::string> endpoint = to_bind(address);
  if (!endpoint.ok()) return endpoint.status();
  if (is_own_host(address)) socket_.set(ZMQ_SNDBUF, kLocalSendBuffer);
  if (zmq_bind(socket_.get(), endpoint->c_str()) != 0) {
    return failure(fmt::format("wanted to listen at '{}'", address), zmq_errno());
  }
  std::array<char, 256> bound{};
  std::size_t size = bound.size();
  STRETTO_CHECK(zmq_getsockopt(socket_.get(), ZMQ_LAST_ENDPOINT, bound.data(), &size) == 0);
  address_ = reachable(bound.data());
  return {};
}

Turn RouterLinks::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  while (turn.frames < limit) {
    const Shape shape = reader_.next(socket_, in_);
    empty_ = shape == Shape::kNothing;
    if (empty_) {
      peers_.drained();
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

void RouterLinks::take(Transport::Sink& sink, Shape shape) {
  const std::optional<std::uint32_t> number = number_of(in_.id.bytes());
  if (!number) return ignore_stranger();
  Peer* peer = peers_.find(*number);
  const bool first = peer == nullptr;
  if (first) {
    if (peers_.is_gone(*number)) return;
    peer = introduce(sink, *number, shape);
    if (peer == nullptr) return;
  }
  peers_.heard(*peer);
  if (peer->muted) return shut(*peer);
  if (shape == Shape::kEmpty && first) return;
  if (shape != Shape::kFrame) return mute(sink, *peer);
  Unpacked frames(in_);
  wire::HeaderView header(in_.header.bytes().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!peer->muted && frames.next(header, payload)) {
    sink.on_frame(peer->link, header, std::move(payload));
  }
}

Peer* RouterLinks::introduce(Transport::Sink& sink, std::uint32_t number, Shape shape) {
  const int descriptor = in_.header.descriptor();
  if (descriptor < 0 || peers_.size() >= options_.max_links) {
    ignore_stranger();
    return nullptr;
  }
  watch();  // So that what is still to be heard of this descriptor is about this peer.
  Peer& peer = peers_.add(number, links_.next(), descriptor, in_.header.peer_address());
  peer.local = is_own_host(peer.address);
  peer.batch = Batch(peer.local);
  if (shape == Shape::kMalformed) {
    peer.muted = true;
    count_refused("a connection whose first message was no frame");
  } else {
    sink.on_link(peer.link);
  }
  return &peer;
}

// Nothing is remembered of strangers, so that they cost no memory.
void RouterLinks::ignore_stranger() {
  count_refused("a message of a connection that is not ours, or one too many,");
  const int descriptor = in_.header.descriptor();
  watch();
  if (peers_.is_current(descriptor)) {
    shut_descriptor(descriptor);
  } else {
    say_goodbye(in_.id.bytes());
  }
}

void RouterLinks::mute(Transport::Sink& sink, Peer& peer) {
  peer.muted = true;
  count_refused("a link that sent a message that is no frame");
  shut(peer);
  sink.on_broken(peer.link, {Code::kMalformed,
                             fmt::format("{} sent a message that is no frame", peer.address)});
}

void RouterLinks::shut(Peer& peer) {
  if (peer.ended || peer.shut) return;
  if (peer.sure) {
    peer.shut = true;
    shut_descriptor(peer.descriptor);
  } else if (!std::exchange(peer.told, true)) {
    say_goodbye(id_of(peer.number));
  }
}

// For those whose descriptor may be somebody else's by now: one of ours closes the link itself.
void RouterLinks::say_goodbye(std::span<const std::byte> id) {
  if (socket_.send(id, true) == 0) socket_.send(std::span<const std::byte>(), false);
}

// libzmq cannot end one connection of a ROUTER, so the connection itself is ended. The descriptor
// is libzmq's, which may close it at any time, and then it may be anybody's: but libzmq tells the
// monitor before it closes. So if nothing has been told after we made a copy, the copy is of the
// right connection.
void RouterLinks::shut_descriptor(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  watch();
  if (peers_.is_current(descriptor)) ::shutdown(copy < 0 ? descriptor : copy, SHUT_RDWR);
  if (copy >= 0) ::close(copy);
}

void RouterLinks::report(Transport::Sink& sink, bool empty, Turn& turn) {
  for (const LinkId link : peers_.take_ended(empty)) {
    const std::unique_ptr<Peer> peer = peers_.remove(link);
    if (peer->muted) continue;
    turn.called = true;
    sink.on_broken(link, std::move(peer->why));
  }
}

Transport::Sent RouterLinks::send(LinkId link, const wire::Header& header, const Buffer& payload) {
  using enum Transport::Sent;
  Peer* peer = peers_.find_link(link);
  if (peer == nullptr || peer->muted || peer->ended) return kBroken;
  if (peer->full) return kFull;
  if (Batch::takes(payload)) {
    peer->batch.add(header, payload);
    if (!std::exchange(peer->batched, true)) batched_.push_back(link);
    if (peer->batch.full()) flush(*peer);
    return peer->ended ? kBroken : kTaken;
  }
  flush(*peer);
  if (peer->ended) return kBroken;
  if (peer->full) return kFull;
  int error = socket_.send(id_of(peer->number), true);
  if (error == 0) error = send_frame(socket_, header, payload);
  return error == 0 ? kTaken : failed(*peer, error);
}

bool RouterLinks::flush() {
  const std::vector<LinkId> links = std::exchange(batched_, {});
  for (const LinkId link : links) {
    Peer* peer = peers_.find_link(link);
    if (peer == nullptr) continue;
    peer->batched = false;
    flush(*peer);
  }
  return !links.empty();
}

void RouterLinks::flush(Peer& peer) {
  if (peer.batch.empty() || peer.full || peer.ended) return;
  int error = socket_.send(id_of(peer.number), true);
  if (error == 0) error = peer.batch.send(socket_);
  if (error != 0) failed(peer, error);
}

Transport::Sent RouterLinks::failed(Peer& peer, int error) {
  using enum Transport::Sent;
  if (error == EAGAIN) {
    peer.full = true;
    full_.push_back(peer.link);
    return kFull;
  }
  peers_.end(peer,
             {Code::kLinkBroken, fmt::format("the connection from {} has ended", peer.address)});
  return kBroken;
}

void RouterLinks::close(LinkId link) {
  Peer* peer = peers_.find_link(link);
  if (peer == nullptr || peer->muted) return;
  flush(*peer);
  peer->muted = true;
  watch();
  shut(*peer);
}

void RouterLinks::watch() {
  for (int i = 0; i < kMaxEvents; ++i) {
    const auto event = monitor_.next();
    if (!event) return;
    if (event->kind == ZMQ_EVENT_ACCEPTED) {
      peers_.accepted(event->descriptor, clock_.now());
    } else {
      peers_.disconnected(event->descriptor);
    }
  }
}

void RouterLinks::hang_up_on_silence() {
  const Time now = clock_.now();
  if (now < next_hang_up_) return;
  next_hang_up_ = now + kHangUpEvery;
  watch();
  // A crowd that comes at once is no flood: its greetings are under way, or not read yet.
  const Time late = now - options_.handshake_timeout;
  const Time early = empty_ ? now - kHangUpEvery : late;
  for (const int descriptor : peers_.silent(late, early, options_.max_silent)) {
    shut_descriptor(descriptor);
  }
}

bool RouterLinks::is_local(LinkId link) {
  const Peer* peer = peers_.find_link(link);
  return peer != nullptr && peer->local;
}

bool RouterLinks::offer_room(Transport::Sink& sink) {
  bool called = false;
  for (const LinkId link : std::exchange(full_, {})) {
    Peer* peer = peers_.find_link(link);
    if (peer == nullptr) continue;
    peer->full = false;
    if (peer->muted || peer->ended) continue;
    flush(*peer);
    if (peer->full || peer->ended) continue;
    called = true;
    sink.on_writable(link);
  }
  return called;
}

// One line for the first, the second, the fourth and so on: a flood must not fill the log.
void RouterLinks::count_refused(const char* what) {
  ++refused_;
  if (std::has_single_bit(refused_)) {
    log(Level::kWarning, "ignored {} from {}; {} such so far", what, in_.header.peer_address(),
        refused_);
  }
}

}  // namespace stretto::zmq
