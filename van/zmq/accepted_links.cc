// SPDX-License-Identifier: Apache-2.0
// What comes to the ROUTER: frames of links, first messages of new ones, and what is not ours.
#include "van/zmq/accepted_links.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/log.h"
#include "common/network.h"
#include "van/tcp_path.h"
#include "van/zmq/connected_link.h"
#include "van/zmq/mechanism.h"

namespace stretto::zmq {
namespace {

// Events read at once: what comes meanwhile is read in the next turn.
constexpr int kMostEvents = 1 << 16;
constexpr Duration kAgeEvery = 1s;
constexpr Duration kLookEvery = 5ms;
constexpr Duration kOfferEvery = 1ms;
constexpr Duration kConfirmed = 30ms;
constexpr Duration kLonger = 1s;  // Where a descriptor was missing.
constexpr Duration kUntilShut = 50ms;

void configure(ZmqSocket& socket, const ZmqOptions& options) {
  socket.set(ZMQ_LINGER, 0);
  socket.set(ZMQ_IPV6, 1);
  socket.set(ZMQ_ROUTER_MANDATORY, 1);
  socket.set(ZMQ_ROUTER_HANDOVER, 1);
  socket.set(ZMQ_SNDHWM, options.queue_frames);
  socket.set(ZMQ_RCVHWM, options.queue_frames);
  socket.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(most_part_bytes(options.max_payload_bytes)));
  socket.set(ZMQ_HANDSHAKE_IVL, milliseconds(options.handshake_timeout));
  // All accepted connections in one I/O thread: then ACCEPTED is told before anything comes by it.
  socket.set<std::uint64_t>(ZMQ_AFFINITY, 1);
  socket.keep_alive();
  set_listener_keys(socket, options);
}

Status is_no_frame(const AcceptedLink& link) {
  return {Code::kMalformed, fmt::format("{} sent a message that is no frame", link.address)};
}

}  // namespace

AcceptedLinks::AcceptedLinks(const ZmqOptions& options, LinkIds& links, ZmqSocket socket,
                             Monitor monitor, ListeningPort port)
    : options_(options),
      links_(links),
      socket_(std::move(socket)),
      monitor_(std::move(monitor)),
      port_(std::move(port)),
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
  // A name of its own: that of a try which failed is taken until libzmq has closed its socket.
  Result<Monitor> monitor = Monitor::attach(
      context, *socket,
      ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED | kHandshakeFailed,
      fmt::format("listener-{}", links.next()));
  if (!monitor.ok()) return monitor.status();
  std::unique_ptr<AcceptedLinks> made(
      new AcceptedLinks(options, links, *std::move(socket), *std::move(monitor), *std::move(port)));
  status = made->port_.resume(made->socket_);
  if (!status.ok()) return status;
  return made;
}

Turn AcceptedLinks::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  while (turn.frames < limit) {
    const Shape shape = reader_.next(socket_, in_);
    if (shape == Shape::kNothing) {
      ++reads_;
      book_.drained();
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
  AcceptedLink* link = book_.find(in_.id.text());
  if (link != nullptr && link->descriptor != in_.header.descriptor()) {
    // Another connection has taken its id: libzmq has dropped this one.
    watch();
    if (book_.is_current(link->descriptor)) book_.disconnected(link->descriptor);
    book_.end(*link,
              {Code::kLinkBroken,
               fmt::format("another connection came in place of that from {}", link->address)});
    link = nullptr;
  }
  const bool first = link == nullptr;
  if (first) {
    if (book_.is_gone(in_.id.text())) return;
    link = introduce(sink, shape);
    if (link == nullptr) return;
  }
  book_.heard(*link);
  if (link->muted) return shut(*link);
  if (shape == Shape::kEmpty && first) return;
  if (shape != Shape::kFrame) return mute(sink, *link);
  MessageFrames frames(in_);
  wire::HeaderView header(in_.header.bytes().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!link->muted && frames.next(header, payload)) {
    sink.on_frame(link->link, header, std::move(payload));
  }
}

AcceptedLink* AcceptedLinks::introduce(Transport::Sink& sink, Shape shape) {
  const int descriptor = in_.header.descriptor();
  if (descriptor < 0 || book_.links().size() >= options_.max_links) {
    ignore_stranger();
    return nullptr;
  }
  watch();  // So that what has yet to be heard of this descriptor is about this link.
  AcceptedLink& link =
      book_.add(links_.next(), in_.id.text(), descriptor, in_.header.peer_address());
  link.local = is_own_host(link.address);
  link.batch = FrameBatch(link.local);
  if (shape == Shape::kMalformed) {
    link.muted = true;
    refuse(fmt::format("{}: its first message was no frame", link.address));
  } else {
    sink.on_link(link.link);
  }
  return &link;
}

// Nothing is remembered of strangers, so that they cost no memory.
void AcceptedLinks::ignore_stranger() {
  refuse(fmt::format("{}: there are as many links as there may be, or it is no TCP connection",
                     in_.header.peer_address()));
  const int descriptor = in_.header.descriptor();
  watch();
  if (book_.is_current(descriptor)) {
    shut_descriptor(descriptor);
  } else {
    say_goodbye(in_.id.text());
  }
}

void AcceptedLinks::mute(Transport::Sink& sink, AcceptedLink& link) {
  link.muted = true;
  Status why = is_no_frame(link);
  refuse(fmt::format("{}: {}", link.address, why.cause()));
  shut(link);
  sink.on_broken(link.link, std::move(why));
}

void AcceptedLinks::shut(AcceptedLink& link) {
  if (link.ended || link.shut) return;
  if (link.sure) {
    link.shut = true;
    shut_descriptor(link.descriptor);
  } else if (!std::exchange(link.told, true)) {
    say_goodbye(link.id);
  }
}

// For those whose descriptor may be another's by now: one of ours closes the link itself.
void AcceptedLinks::say_goodbye(std::string_view id) {
  if (socket_.send(id, true) == 0) socket_.send(std::string_view(), false);
}

// libzmq cannot end one connection of a ROUTER, so the connection itself is shut down. The
// descriptor is libzmq's, which may close it at any time, and then it may be anything: but libzmq
// tells the monitor before it closes. So if nothing has been told after we made a copy, the copy is
// of the right connection.
void AcceptedLinks::shut_descriptor(int descriptor) {
  const Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  watch();
  if (!book_.is_open(descriptor)) return;
  ::shutdown(copy.is_open() ? copy.get() : descriptor, SHUT_RDWR);
  book_.note_shut(descriptor);
}

void AcceptedLinks::report(Transport::Sink& sink, bool empty, Turn& turn) {
  for (const LinkId link : book_.take_ended(empty)) over_.push_back(link);
  while (!over_.empty()) {
    const std::unique_ptr<AcceptedLink> link = book_.remove(over_.front());
    over_.pop_front();
    liveness_.erase(link->link);
    if (link->muted) continue;
    turn.called = true;
    sink.on_broken(link->link, std::move(link->why));
  }
}

Transport::Sent AcceptedLinks::send(LinkId number, const wire::Header& header,
                                    const Buffer& payload) {
  using enum Transport::Sent;
  AcceptedLink* link = book_.find_link(number);
  if (link == nullptr || link->muted || link->ended) return kBroken;
  if (link->full) return kFull;
  if (FrameBatch::takes(payload)) {
    link->batch.add(header, payload);
    if (!std::exchange(link->batched, true)) batched_.push_back(number);
    if (link->batch.full()) flush(*link);
    return link->ended ? kBroken : kTaken;
  }
  flush(*link);
  if (link->ended) return kBroken;
  if (link->full) return kFull;
  const int error = send_frame(socket_, link->id, header, payload);
  return error == 0 ? kTaken : failed(*link, error);
}

// An exception, for want of memory, leaves the list: those that were not served are, next time.
void AcceptedLinks::flush() {
  for (const LinkId number : batched_) {
    AcceptedLink* link = book_.find_link(number);
    if (link == nullptr) continue;
    flush(*link);
    link->batched = false;
  }
  batched_.clear();
}

void AcceptedLinks::flush(AcceptedLink& link) {
  if (link.batch.empty() || link.full || link.ended) return;
  if (const int error = link.batch.send(socket_, link.id); error != 0) failed(link, error);
}

Transport::Sent AcceptedLinks::failed(AcceptedLink& link, int error) {
  using enum Transport::Sent;
  if (error == EAGAIN) {
    link.full = true;
    full_.push_back(link.link);
    return kFull;
  }
  book_.end(link,
            {Code::kLinkBroken, fmt::format("the connection from {} has ended", link.address)});
  return kBroken;
}

void AcceptedLinks::admit(LinkId number) {
  if (const AcceptedLink* link = book_.find_link(number)) book_.admit(*link);
}

// What was submitted just before, such as why the link ends, may still leave.
void AcceptedLinks::close(LinkId number) {
  AcceptedLink* link = book_.find_link(number);
  if (link == nullptr || link->muted) return;
  flush(*link);
  link->muted = true;
  closing_.push_back({number, clock_.now() + kUntilShut});
}

std::optional<Transport::RoundTrips> AcceptedLinks::round_trips(LinkId number) const {
  const AcceptedLink* link = book_.find_link(number);
  if (link == nullptr || !link->sure || link->ended) return std::nullopt;
  return round_trips_of(link->descriptor);
}

void AcceptedLinks::watch() {
  for (int i = 0; i < kMostEvents; ++i) {
    const auto event = monitor_.next();
    if (!event) return;
    if (event->kind == ZMQ_EVENT_ACCEPTED) {
      book_.accepted(event->value);
    } else if (event->kind == ZMQ_EVENT_DISCONNECTED) {
      book_.disconnected(event->value);
    } else if (event->kind == ZMQ_EVENT_ACCEPT_FAILED) {
      resume_at_ = clock_.now() + kLonger;
      port_.pause(socket_);
      if (complaint_.due(clock_.now())) {
        log(Level::kWarning, "zmq: {} accepts nobody for a second: {}; raise the limit (ulimit -n)",
            address(), std::strerror(event->value));
      }
    } else if ((event->kind & kHandshakeFailed) != 0) {
      refuse(fmt::format("a client of {}: {}", address(), fault_of_client(*event)));
    }
  }
}

void AcceptedLinks::offer_room(Transport::Sink& sink) {
  if (full_.empty()) return;
  const Time now = clock_.now();
  if (now < next_offer_) return;
  next_offer_ = now + kOfferEvery;
  // Not those that its callbacks add.
  for (std::size_t left = full_.size(); left > 0; --left) {
    AcceptedLink* link = book_.find_link(full_.front());
    full_.pop_front();
    if (link == nullptr) continue;
    link->full = false;
    if (link->muted || link->ended) continue;
    flush(*link);
    if (!link->full && !link->ended) sink.on_writable(link->link);
  }
}

void AcceptedLinks::look_around() {
  const Time now = clock_.now();
  while (!closing_.empty() && closing_.front().due <= now) {
    AcceptedLink* link = book_.find_link(closing_.front().link);
    closing_.pop_front();
    if (link == nullptr) continue;
    watch();
    shut(*link);
  }
  gate(now);
  if (book_.strangers() == 0 || now < next_look_) return;
  next_look_ = now + kLookEvery;
  watch();
  if (now >= next_age_) {  // One step, however long the loop stood still.
    next_age_ = now + kAgeEvery;
    book_.grow_older();
  }
  hang_up_on_strangers(now);
}

// Clients that come while nobody is accepted wait in the kernel.
void AcceptedLinks::gate(Time now) {
  if (port_.is_accepting()) {
    if (book_.strangers() > options_.max_handshakes) port_.pause(socket_);
  } else if (book_.strangers() <= options_.max_handshakes / 2 && now >= resume_at_) {
    resume_at_ = now + kLonger;  // If it fails.
    if (!port_.resume(socket_).ok()) return;
    resume_at_ = now;
  }
}

// The kernel has received so much, but libzmq's thread and this loop may not have read it yet.
bool AcceptedLinks::is_confirmed(std::uint64_t suspect, Time now, bool heard_out) {
  const auto [found, is_new] = suspects_.try_emplace(suspect, Suspicion{now, reads_});
  const bool read_since = heard_out || reads_ > found->second.reads;
  return !is_new && read_since && now - found->second.since >= kConfirmed;
}

void AcceptedLinks::hang_up_on_strangers(Time now) {
  struct Held {
    int descriptor;
    std::uint64_t bytes;
  };
  const auto latest = static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::seconds>(options_.handshake_timeout).count());
  const std::vector<ConnectionBook::Stranger> strangers = book_.list_strangers();
  std::erase_if(suspects_, [&strangers](const auto& suspect) {
    return suspect.first != 0 && !std::ranges::binary_search(strangers, suspect.first, {},
                                                             &ConnectionBook::Stranger::order);
  });
  std::vector<Held> held;
  std::uint64_t sum = 0;
  const auto hang_up = [this](int descriptor, std::string_view why) {
    refuse(fmt::format("a client of {}: {}", address(), why));
    shut_descriptor(descriptor);
  };
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    const auto& [descriptor, order, age, heard_out] = strangers[i];
    const std::uint64_t bytes = received_bytes_of(descriptor).value_or(0);
    const bool crowded = strangers.size() - i > options_.max_strangers;
    if (age > latest || (age > 1 && crowded)) {
      hang_up(descriptor, "it did not say who it is");
    } else if (bytes > options_.stranger_bytes && is_confirmed(order, now, heard_out)) {
      hang_up(descriptor, "it sent too much before it said who it is");
    } else {
      held.push_back({descriptor, bytes});
      sum += bytes;
    }
  }
  if (sum <= options_.strangers_bytes) {
    suspects_.erase(0);
    return;
  }
  if (!is_confirmed(0, now, false)) return;
  std::ranges::sort(held, std::greater(), &Held::bytes);
  for (const Held& one : held) {
    if (sum <= options_.strangers_bytes / 2) return;
    hang_up(one.descriptor, "connections that did not say who they are have sent too much");
    sum -= one.bytes;
  }
}

Duration AcceptedLinks::may_wait(Duration wait) const {
  constexpr Duration kWithStrangers = 10ms;
  if (!full_.empty()) wait = std::min(wait, kOfferEvery);
  if (book_.strangers() > 0 || !closing_.empty()) wait = std::min(wait, kWithStrangers);
  if (!port_.is_accepting()) wait = std::min(wait, kWithStrangers);
  return wait;
}

void AcceptedLinks::look_at_paths(Time now, Duration dead_after) {
  struct Seen {
    LinkId link;
    PathSigns signs;
  };
  std::vector<Seen> seen;
  for (const auto& [number, link] : book_.links()) {
    if (link->muted || link->ended || !link->sure) continue;
    if (const auto signs = path_signs(link->descriptor)) seen.push_back({number, *signs});
  }
  watch();  // What was read is of the right connection if the link is still open after that.
  for (const auto& [number, signs] : seen) {
    AcceptedLink& link = *book_.find_link(number);
    if (link.ended) continue;
    const Status status = liveness_[number].look(signs, now, dead_after);
    if (status.ok()) continue;
    reset_when_closed(link.descriptor);
    shut(link);
    book_.end(link, {status.code(), fmt::format("{}: {}", link.address, status.cause())});
  }
}

// One line for the first, the second, the fourth and so on: a flood must not fill the log.
void AcceptedLinks::refuse(const std::string& what) {
  if (!refused_.add()) return;
  log(Level::kWarning, "zmq: hung up on {}; {} such so far", what, refused_.events());
}

}  // namespace stretto::zmq
