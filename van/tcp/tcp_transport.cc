// SPDX-License-Identifier: Apache-2.0
// The loop over the sockets: ready connections get turns in order, and a poll delivers a bounded
// number of frames.
#include "van/tcp/tcp_transport.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/threads/loop_owner.h"
#include "van/tcp/tcp_links.h"
#include "van/transport/epoll_set.h"
#include "van/transport/poll_turns.h"

namespace stretto {
namespace tcp {
namespace {

constexpr int kFramesPerPoll = 64;
constexpr int kFramesPerTurn = 16;

/// Thread: loop, but for wake().
class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TcpOptions& options)
      : options_(options), links_(options, watch_, clock_) {}
  Status open() { return watch_.open(); }

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override;
  void admit(LinkId link) override { links_.admit(link); }
  void close(LinkId link) override { links_.close(link); }
  void poll(Sink& sink, Duration wait) override;
  void poll_unsignalled(Sink& sink) override;
  void wake() override { watch_.wake(); }
  std::optional<bool> has_come(Asked asked) override {
    return asked == Asked::kSystem ? watch_.has_come() : links_.may_wait(1s) == Duration::zero();
  }
  void flush() override { links_.writer().flush(); }
  void set_dead_after(Duration limit) override { dead_after_ = limit; }
  bool is_local(LinkId link) const override {
    const Connection* connection = links_.find(link);
    return connection != nullptr && connection->local;
  }
  std::optional<RoundTrips> round_trips(LinkId link) const override {
    const Connection* connection = links_.find(link);
    if (connection == nullptr) return std::nullopt;
    return round_trips_of(connection->descriptor());
  }
  bool is_made(LinkId link) const override {
    const Connection* connection = links_.find(link);
    return connection != nullptr && connection->stage() == Connection::Stage::kOpen;
  }
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  void take_turn(Sink& sink);
  void deliver(Sink& sink);
  void look_at_paths(Sink& sink);

  const TcpOptions options_;
  const SteadyClock clock_;
  EpollSet watch_;
  TcpLinks links_;
  Duration dead_after_ = JobSettings().dead_after;
  Time next_look_at_paths_;
  bool woken_ = false;
  bool polling_ = false;
  LoopOwner owner_;
};

Result<std::string> TcpTransport::listen(std::string_view address) {
  if (!links_.address().empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {} already; "
                              "make another transport",
                              address, links_.address()));
  }
  Result<ListeningSocket> listener = ListeningSocket::open(address, watch_, kListenerToken);
  if (!listener.ok()) return listener.status();
  links_.listen(*std::move(listener));
  return links_.address();
}

Result<LinkId> TcpTransport::connect(std::string_view address) {
  const Result<HostPort> to = remote_address(address);
  if (!to.ok()) return to.status();
  if (links_.size() >= options_.max_links) {
    return Status(
        Code::kResource,
        fmt::format("wanted to connect to '{}', but {} links are open, which is the limit; "
                    "raise max_links",
                    address, links_.size()));
  }
  Result<LinkId> link = links_.connect(*to, address);
  if (link.ok()) return link;
  return Status(link.status().code(),
                fmt::format("cannot connect to '{}': {}", address, link.status().cause()));
}

Transport::Sent TcpTransport::try_send(LinkId link, const wire::Header& header,
                                       const Buffer& payload) {
  owner_.check_if_owned();
  return links_.writer().send(link, header, payload);
}

Duration TcpTransport::may_wait(Duration wait) const {
  // Paths must be checked regularly: PathLiveness takes a long gap for a suspended loop.
  if (links_.size() > 0 || !links_.address().empty()) {
    wait = std::min(wait, std::max(Duration::zero(), Duration(next_look_at_paths_ - clock_.now())));
  }
  return links_.may_wait(wait);
}

void TcpTransport::poll(Sink& sink, Duration wait) {
  owner_.check();
  const Polling polling(polling_);
  links_.writer().flush();
  for (const std::uint64_t token : watch_.wait(may_wait(wait), woken_)) links_.notice(token);
  take_turn(sink);
}

void TcpTransport::poll_unsignalled(Sink& sink) {
  owner_.check();
  const Polling polling(polling_);
  links_.writer().flush();
  take_turn(sink);
}

void TcpTransport::take_turn(Sink& sink) {
  deliver(sink);
  links_.writer().flush();  // The sink's replies.
  look_at_paths(sink);
  links_.writer().offer_room(sink);
  links_.look_around(sink);
  links_.bury();
}

void TcpTransport::look_at_paths(Sink& sink) {
  const Time now = clock_.now();
  if (now < next_look_at_paths_) return;
  next_look_at_paths_ = now + PathLiveness::interval(dead_after_);
  links_.look_at_paths(sink, now, dead_after_);
}

void TcpTransport::deliver(Sink& sink) {
  for (int left = kFramesPerPoll; left > 0 && links_.has_ready();) {
    left -= std::max(links_.receive(sink, std::min(left, kFramesPerTurn)).frames, 1);
  }
}

Status check(const TcpOptions& options) {
  const bool sizes =
      options.max_payload_bytes > 0 && options.max_payload_bytes <= wire::kMaxPayloadBytes;
  const bool counts = options.queue_frames >= 1 && options.queue_frames <= (1 << 20) &&
                      options.max_links >= 1 && options.max_links <= 16384;
  if (sizes && counts) return {};
  return {Code::kInvalidArgument,
          fmt::format("TCP options are out of range: max_payload_bytes {} (1 to {}), "
                      "queue_frames {} (1 to 1048576), max_links {} (1 to 16384)",
                      options.max_payload_bytes, wire::kMaxPayloadBytes, options.queue_frames,
                      options.max_links)};
}

}  // namespace
}  // namespace tcp

Result<std::unique_ptr<Transport>> make_tcp_transport(const TcpOptions& options) {
  if (Status status = tcp::check(options); !status.ok()) return status;
  auto transport = std::make_unique<tcp::TcpTransport>(options);
  if (Status status = transport->open(); !status.ok()) return status;
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace stretto
