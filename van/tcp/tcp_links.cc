// SPDX-License-Identifier: Apache-2.0
// Accepts and connects, delivers frames, and closes connections.
#include "van/tcp/tcp_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "common/log.h"

namespace stretto::tcp {
namespace {

constexpr Duration kLookEvery = 1s;
constexpr int kMostAccepted = 64;  // Per call.
using Stage = Connection::Stage;

Status is_no_frame(Connection& connection) {
  const bool foreign = connection.parser().greeting() == GreetingCheck::kForeign;
  return connection.ours && foreign ? no_node(connection) : connection.why_refused();
}

void deliver(Transport::Sink& sink, Connection& connection) {
  MessageParser& parser = connection.parser();
  UnpackedFrames frames(parser.headers(), parser.payloads(),
                        [&parser] { return parser.take_payload(); });
  wire::HeaderView header(parser.headers().data(), wire::kHeaderBytes);
  Buffer payload;
  while (!connection.over && frames.next(header, payload)) {
    sink.on_frame(connection.link, header, std::move(payload));
  }
}

}  // namespace

// Holds a whole message except a large payload, and another head.
TcpLinks::~TcpLinks() {
  static_assert(kScratchBytes >= kMostBatched * wire::kHeaderBytes + 2 * kHeadBytes + kLeastAlone);
  for (const auto& [link, connection] : table_.all()) connection->hang_up();
}

// ---- connecting

Result<LinkId> TcpLinks::connect(const HostPort& to, std::string_view address) {
  const LinkId link = ids_.next_unused([this](LinkId id) { return table_.find(id) != nullptr; });
  Status status = connector_.connect(link, to, address, time_.now());
  if (!status.ok()) return status;
  ++announced_;
  return link;
}

// ---- accepting

void TcpLinks::accept() {
  for (int i = 0; i < kMostAccepted; ++i) {
    AcceptedSocket caller = listener_->accept();
    if (!caller.socket.is_open()) return;
    const LinkId link = ids_.next_unused([this](LinkId id) { return table_.find(id) != nullptr; });
    auto connection =
        std::make_unique<Connection>(link, std::move(caller), time_.now(),
                                     std::min(options_.pending_bytes, options_.max_payload_bytes));
    if (!watch_.add(connection->descriptor(), link).ok()) continue;
    keep_alive(connection->descriptor());
    Connection& come = table_.add(std::move(connection));
    pending_.add(link);
    writer_.write(come);
    table_.make_ready(come);
  }
}

void TcpLinks::notice(std::uint64_t token) {
  if (token == kListenerToken) return accept();
  Connection* connection = table_.find(static_cast<LinkId>(token));
  if (connection == nullptr) return;
  if (connection->stage() == Stage::kConnecting) {
    if (connector_.go_on(*connection, time_.now())) writer_.write(*connection);
    return;
  }
  if (connection->writes) writer_.write(*connection);
  table_.make_ready(*connection);
}

void TcpLinks::admit(LinkId link) {
  Connection* connection = table_.find(link);
  if (connection == nullptr || std::exchange(connection->admitted, true)) return;
  pending_.remove(*connection);
  connection->parser().set_limit(options_.max_payload_bytes);
}

// ---- receiving

Turn TcpLinks::receive(Transport::Sink& sink, int limit) {
  Turn turn;
  for (std::size_t left = table_.ready(); left > 0 && turn.frames < limit; --left) {
    if (Connection* connection = table_.begin_turn()) give_turn(sink, *connection, limit, turn);
    table_.end_turn();
  }
  turn.more = has_ready();
  return turn;
}

void TcpLinks::give_turn(Transport::Sink& sink, Connection& connection, int limit, Turn& turn) {
  connection.begin(scratch_);
  bool enough = false;
  while (!enough && !connection.over) {
    const MessageParser::Got got = connection.next();
    if (got == MessageParser::Got::kNothing) break;
    const bool framed = got == MessageParser::Got::kFrame;
    turn.frames += framed ? static_cast<int>(connection.parser().frames()) : 1;
    turn.called = true;
    take(sink, connection, got);
    enough = turn.frames >= limit;
  }
  connection.keep();
  if (connection.over) return;
  if (connection.ended()) {
    turn.called = turn.called || connection.announced;
    return end_with(sink, connection, connection.why_ended());
  }
  if (!connection.admitted) {
    pending_.account(connection);
    if (pending_.held_bytes() > options_.all_pending_bytes) {
      return refuse(sink, connection,
                    {Code::kResource, fmt::format("connections that are not admitted hold {} bytes",
                                                  pending_.held_bytes())});
    }
  }
  if (enough || !connection.drained()) table_.make_ready(connection);
}

void TcpLinks::take(Transport::Sink& sink, Connection& connection, MessageParser::Got got) {
  using enum MessageParser::Got;
  switch (got) {
    case kNothing:
      return;
    case kGreeting:
      connection.open();
      writer_.write(connection);
      if (!connection.ours) introduce(sink, connection);
      return;
    case kFrame:
      return deliver(sink, connection);
    case kMalformed:
      return refuse(sink, connection, is_no_frame(connection));
  }
}

void TcpLinks::introduce(Transport::Sink& sink, Connection& connection) {
  if (announced_ >= options_.max_links) {
    refuse(sink, connection, {Code::kResource, "there are as many links as there may be"});
    return;
  }
  connection.announced = true;
  ++announced_;
  sink.on_link(connection.link);
}

// ---- ending

// The link is no longer known; its memory is freed after the turn.
void TcpLinks::end(Connection& connection) {
  connection.over = true;
  if (!connection.admitted) pending_.remove(connection);
  if (connection.announced) --announced_;
  if (connection.ours) connector_.forget(connection.link);
  if (connection.descriptor() >= 0) watch_.remove(connection.descriptor());
  connection.hang_up();
  table_.remove(connection);
}

void TcpLinks::end_with(Transport::Sink& sink, Connection& connection, Status why) {
  const bool known = connection.announced;
  end(connection);
  if (known) sink.on_broken(connection.link, std::move(why));
}

void TcpLinks::refuse(Transport::Sink& sink, Connection& connection, Status why) {
  if (!connection.ours && refused_.add()) {
    log(Level::kWarning, "hung up on {}: {}; {} such so far", connection.address, why.cause(),
        refused_.events());
  }
  end_with(sink, connection, std::move(why));
}

void TcpLinks::close(LinkId link) {
  Connection* connection = table_.find(link);
  if (connection == nullptr) return;
  if (connection->flush()) writer_.write(*connection);
  end(*connection);
}

void TcpLinks::look_around(Transport::Sink& sink) {
  const Time now = time_.look();
  connector_.end_lookups(now);
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  for (auto& [link, why] : connector_.late(now)) {
    Connection* connection = table_.find(link);  // The sink may have closed it.
    if (connection != nullptr) end_with(sink, *connection, std::move(why));
  }
  if (listener_) {
    listener_->listen_again();
    close_pending(sink, now);
  }
}

// A connection with unread bytes is not silent. Many new connections are no flood: their greetings
// are in flight, or not read yet.
void TcpLinks::close_pending(Transport::Sink& sink, Time now) {
  std::vector<LinkId> early;
  for (const LinkId link : pending_.links()) {
    const Connection& connection = *table_.find(link);
    if (!connection.ready && now - connection.since >= kLookEvery) early.push_back(link);
  }
  for (std::size_t i = 0; i < early.size(); ++i) {
    Connection* connection = table_.find(early[i]);  // The sink may have closed it.
    if (connection == nullptr) continue;
    const bool late = now - connection->since >= options_.handshake_timeout;
    if (!late && early.size() - i <= options_.max_pending) return;
    refuse(sink, *connection,
           {Code::kLinkBroken,
            fmt::format("{} connected and was not admitted in time", connection->address)});
  }
}

void TcpLinks::look_at_paths(Transport::Sink& sink, Time now, Duration dead_after) {
  std::vector<std::pair<LinkId, Status>> dead;
  for (const auto& [link, connection] : table_.all()) {
    if (!connection->announced || connection->stage() < Stage::kGreeting) continue;
    std::optional<PathSample> signs = path_signs(connection->descriptor());
    if (!signs) continue;
    if (!connection->ready) signs->begun_at = connection->begun_at();
    Status status = connection->liveness.look(*signs, now, dead_after);
    if (status.ok()) continue;
    reset_when_closed(connection->descriptor());
    dead.emplace_back(
        link, Status(status.code(), fmt::format("{}: {}", connection->address, status.cause())));
  }
  for (auto& [link, why] : dead) {
    Connection* connection = table_.find(link);
    if (connection == nullptr) continue;  // The sink has closed it.
    end_with(sink, *connection, std::move(why));
  }
}

Duration TcpLinks::may_wait(Duration wait) const {
  return has_ready() || writer_.has_room_to_offer() ? Duration::zero() : wait;
}

}  // namespace stretto::tcp
