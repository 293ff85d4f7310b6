// SPDX-License-Identifier: Apache-2.0
// Who comes, what they say, and when they are hung up on.
#include "van/zmq/accepted_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "common/log.h"
#include "van/zmq/listener.h"
#include "van/zmq/zmtp.h"

namespace stretto::zmq {
namespace {

constexpr Duration kLookEvery = 1s;
constexpr int kMostAccepted = 64;  // At once.
// Room for all of a message but a large payload, and a head more.
constexpr std::size_t kScratchBytes = 64 << 10;
static_assert(kScratchBytes >= kMostBatched * wire::kHeaderBytes + 2 * kMostHeadBytes +
                                   kLeastTaken + kMostReadyBytes);

Status is_no_frame(const Connection& connection) {
  return {Code::kMalformed, fmt::format("{} sent a message that is no frame", connection.address)};
}

void deliver(Transport::Sink& sink, Connection& connection) {
  Intake& intake = connection.intake();
  Unpacked frames(intake.headers(), intake.payloads(), [&intake] { return intake.take_payload(); });
  wire::HeaderView header(intake.headers().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!connection.over && frames.next(header, payload)) {
    sink.on_frame(connection.link, header, std::move(payload));
  }
}

}  // namespace

AcceptedLinks::AcceptedLinks(const ZmqOptions& options, LinkIds& ids, Watch& watch,
                             ListeningSocket listener)
    : options_(options),
      ids_(ids),
      watch_(watch),
      listener_(std::move(listener)),
      scratch_(kScratchBytes) {}

AcceptedLinks::~AcceptedLinks() {
  for (auto& [link, connection] : connections_) connection->hang_up();
}

// ---- who comes

void AcceptedLinks::accept() {
  for (int i = 0; i < kMostAccepted; ++i) {
    AcceptedDescriptor caller = listener_.accept();
    if (!caller.socket.is_open()) return;
    const LinkId link = ids_.next();
    auto connection =
        std::make_unique<Connection>(link, std::move(caller), clock_.now(),
                                     std::min(options_.stranger_bytes, options_.max_payload_bytes));
    if (!watch_.add(connection->descriptor(), socket_token(link)).ok()) continue;
    keep_alive(connection->descriptor());
    connection->outlet().add(our_greeting());
    write(*connection);
    make_ready(*connection);
    strangers_.add(link);
    connections_.emplace(link, std::move(connection));
  }
}

Connection* AcceptedLinks::find(LinkId link) const {
  const auto found = connections_.find(link);
  return found == connections_.end() ? nullptr : found->second.get();
}

void AcceptedLinks::make_ready(Connection& connection) {
  if (!std::exchange(connection.ready, true)) ready_.push_back(connection.link);
}

void AcceptedLinks::notice(LinkId link) {
  Connection* connection = find(link);
  if (connection == nullptr) return;
  if (connection->writes) write(*connection);
  make_ready(*connection);
}

void AcceptedLinks::admit(LinkId link) {
  Connection* connection = find(link);
  if (connection == nullptr || std::exchange(connection->admitted, true)) return;
  strangers_.remove(*connection);
  connection->intake().set_limit(options_.max_payload_bytes);
}

// ---- what they say

Turn AcceptedLinks::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  for (std::size_t left = ready_.size(); left > 0 && turn.frames < limit; --left) {
    Connection* connection = find(ready_.front());
    ready_.pop_front();
    if (connection == nullptr) continue;
    connection->ready = false;
    give_turn(sink, *connection, limit, turn);
  }
  turn.more = !ready_.empty();
  return turn;
}

void AcceptedLinks::give_turn(Transport::Sink& sink, Connection& connection, int limit,
                              Turn& turn) {
  connection.begin(scratch_);
  bool enough = false;
  while (!enough && !connection.over) {
    const Intake::Got got = connection.next();
    if (got == Intake::Got::kNothing) break;
    turn.frames += got == Intake::Got::kFrame ? static_cast<int>(connection.intake().frames()) : 1;
    turn.called = true;
    take(sink, connection, got);
    enough = turn.frames >= limit;
  }
  connection.keep();
  if (connection.over) return;
  if (connection.ended()) {
    const bool known = connection.announced;
    end(connection);
    if (!known) return;
    turn.called = true;
    sink.on_broken(
        connection.link,
        {Code::kLinkBroken, fmt::format("the connection from {} has ended", connection.address)});
    return;
  }
  if (!connection.admitted) {
    strangers_.account(connection);
    if (strangers_.held_bytes() > options_.strangers_bytes) {
      return refuse(sink, connection,
                    {Code::kResource, fmt::format("connections that are not admitted hold {} bytes",
                                                  strangers_.held_bytes())});
    }
  }
  if (enough || !connection.drained()) make_ready(connection);
}

void AcceptedLinks::take(Transport::Sink& sink, Connection& connection, Intake::Got got) {
  using enum Intake::Got;
  switch (got) {
    case kNothing:
      return;
    case kGreeting:
      connection.outlet().add(our_ready());
      return write(connection);
    case kReady:
      return;
    case kHello:
      if (!connection.announced) return static_cast<void>(introduce(sink, connection));
      break;  // It is only the first message.
    case kFrame:
      if (connection.announced || introduce(sink, connection)) deliver(sink, connection);
      return;
    case kMalformed:
      break;
  }
  refuse(sink, connection, is_no_frame(connection));
}

bool AcceptedLinks::introduce(Transport::Sink& sink, Connection& connection) {
  if (announced_ >= options_.max_links) {
    refuse(sink, connection, {Code::kResource, "there are as many links as there may be"});
    return false;
  }
  connection.announced = true;
  ++announced_;
  sink.on_link(connection.link);
  return !connection.over;
}

// ---- how they end

// The link is not known any more; its memory goes when the turn is over.
void AcceptedLinks::end(Connection& connection) {
  connection.over = true;
  if (!connection.admitted) strangers_.remove(connection);
  if (connection.announced) --announced_;
  watch_.remove(connection.descriptor());
  connection.hang_up();
  auto node = connections_.extract(connection.link);
  buried_.push_back(std::move(node.mapped()));
}

// One line for the first, the second, the fourth and so on: a flood must not fill the log.
void AcceptedLinks::refuse(Transport::Sink& sink, Connection& connection, Status why) {
  ++refused_;
  if (std::has_single_bit(refused_)) {
    log(Level::kWarning, "hung up on {}: {}; {} such so far", connection.address, why.cause(),
        refused_);
  }
  const bool known = connection.announced;
  end(connection);
  if (known) sink.on_broken(connection.link, std::move(why));
}

void AcceptedLinks::close(LinkId link) {
  Connection* connection = find(link);
  if (connection == nullptr) return;
  if (connection->flush()) write(*connection);
  end(*connection);
}

// Who has something to say that was not read yet is not silent. A crowd that comes at once is no
// flood: its greetings are in flight, or not read yet.
void AcceptedLinks::hang_up_on_strangers(Transport::Sink& sink) {
  const Time now = clock_.now();
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  listener_.listen_again();
  std::vector<LinkId> early;
  for (const LinkId link : strangers_.links()) {
    const Connection& connection = *find(link);
    if (!connection.ready && now - connection.since >= kLookEvery) early.push_back(link);
  }
  for (std::size_t i = 0; i < early.size(); ++i) {
    Connection* connection = find(early[i]);  // The sink may have closed it meanwhile.
    if (connection == nullptr) continue;
    const bool late = now - connection->since >= options_.handshake_timeout;
    if (!late && early.size() - i <= options_.max_strangers) return;
    refuse(sink, *connection,
           {Code::kLinkBroken,
            fmt::format("{} connected and did not say who it is", connection->address)});
  }
}

void AcceptedLinks::look_at_paths(Transport::Sink& sink, Time now, Duration dead_after) {
  std::vector<std::pair<LinkId, Status>> dead;
  for (auto& [link, connection] : connections_) {
    const std::optional<PathSigns> signs = path_signs(connection->descriptor());
    if (!signs || !connection->announced) continue;
    Status status = connection->liveness.look(*signs, now, dead_after);
    if (status.ok()) continue;
    reset_when_closed(connection->descriptor());
    dead.emplace_back(
        link, Status(status.code(), fmt::format("{}: {}", connection->address, status.cause())));
  }
  for (auto& [link, why] : dead) {
    Connection* connection = find(link);
    if (connection == nullptr) continue;  // The sink has closed it meanwhile.
    end(*connection);
    sink.on_broken(link, std::move(why));
  }
}

// ---- what leaves

Transport::Sent AcceptedLinks::send(LinkId link, const wire::Header& header,
                                    const Buffer& payload) {
  using enum Transport::Sent;
  Connection* connection = find(link);
  if (connection == nullptr || connection->broken) return kBroken;
  if (connection->full) return kFull;
  if (MessageBatch::takes(payload)) {
    connection->batch.add(header, payload);
    if (!std::exchange(connection->batched, true)) batched_.push_back(link);
    if (connection->batch.full() && connection->flush()) write(*connection);
    return connection->broken ? kBroken : kTaken;
  }
  if (connection->flush()) write(*connection);
  if (connection->broken) return kBroken;
  if (connection->full) return kFull;
  connection->outlet().add(header, payload);
  write(*connection);
  return connection->broken ? kBroken : kTaken;
}

void AcceptedLinks::flush() {
  for (const LinkId link : std::exchange(batched_, {})) {
    Connection* connection = find(link);
    if (connection != nullptr && connection->flush()) write(*connection);
  }
}

void AcceptedLinks::write(Connection& connection) {
  const bool wants_room = !connection.write();
  if (connection.broken) return make_ready(connection);
  if (wants_room != std::exchange(connection.writes, wants_room)) {
    watch_.want_room(connection.descriptor(), socket_token(connection.link), wants_room);
  }
  const auto most = static_cast<std::size_t>(options_.queue_frames);
  const std::size_t waiting = connection.outlet().messages();
  if (waiting >= most) connection.full = true;
  if (connection.full && waiting <= most / 2) {
    connection.full = false;
    roomy_.push_back(connection.link);
  }
}

void AcceptedLinks::offer_room(Transport::Sink& sink) {
  for (const LinkId link : std::exchange(roomy_, {})) {
    const Connection* connection = find(link);
    if (connection != nullptr && !connection->full) sink.on_writable(link);
  }
}

bool AcceptedLinks::is_local(LinkId link) const {
  const Connection* connection = find(link);
  return connection != nullptr && connection->local;
}

Duration AcceptedLinks::may_wait(Duration wait) const {
  return ready_.empty() && roomy_.empty() ? wait : Duration::zero();
}

}  // namespace stretto::zmq
