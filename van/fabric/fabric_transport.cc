// SPDX-License-Identifier: Apache-2.0
// The loop: events of lines, then completions of the fabric, then a turn for each link with work. A
// poll delivers a bounded number of frames.
#include "van/fabric/fabric_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/threads/loop_owner.h"
#include "van/fabric/engine.h"
#include "van/fabric/fabric_links.h"
#include "van/fabric/frame_delivery.h"
#include "van/fabric/path_monitor.h"
#include "van/transport/poll_turns.h"
#include "van/transport/polled_clock.h"

namespace stretto {
namespace fabric {
namespace {

constexpr int kFramesPerPoll = 64;
constexpr std::uint64_t kFabricToken = Bootstrap::kListenerToken - 1;
// The poll interval where no descriptor signals: the provider is connecting, it refused work, a
// line has ended, or it has no descriptor at all.
constexpr Duration kLookAgain = 1ms;
// The poll interval for retired links.
constexpr Duration kRetiredLookAgain = 10ms;
// A peer times out only after at least this many polls, no further apart than this.
constexpr int kLooksAtLeast = 10;
constexpr Duration kLookForLate = 100ms;

Duration most_between_looks(const FabricOptions& options) {
  const Duration shortest = std::min(options.connect_timeout, options.handshake_timeout);
  return std::clamp<Duration>(shortest / kLooksAtLeast, 1ms, kLookForLate);
}

BootstrapMessage introduction_of(const FabricLink& link, const FabricEndpoint& endpoint,
                                 const FabricOptions& options) {
  return {.provider = endpoint.provider(),
          .name = endpoint.name(),
          .link = link.id,
          .secret = link.secret,
          .queue_frames = static_cast<std::uint32_t>(options.queue_frames)};
}

bool may_go(FabricLink& link, Bootstrap& exchange, Time now) {
  if (link.line == 0 || !link.far.has_value()) return true;
  if (link.fetches > 0) return false;
  // The end of the line tells the peer that we have no fetches in flight and start none.
  if (!std::exchange(link.finished, true)) exchange.finish(link.line);
  return link.line_ended || (now > link.deadline && !link.outbox.exposes());
}

/// Thread: loop, but for wake().
class FabricTransport final : public Transport {
 public:
  explicit FabricTransport(const FabricOptions& options)
      : options_(options),
        clock_(real_, most_between_looks(options)),
        exchange_(watch_, options_),
        traffic_(options_, links_),
        delivery_(options_, traffic_) {}
  ~FabricTransport() override;
  Status open() { return watch_.open(); }

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId id, const wire::Header& header, const Buffer& payload) override;
  void close(LinkId id) override;
  void poll(Sink& sink, Duration wait) override;
  void wake() override { watch_.wake(); }
  bool lingers() const override;
  void set_dead_after(Duration limit) override { paths_.set_dead_after(limit); }
  bool is_local(LinkId id) const override;
  bool is_made(LinkId id) const override;
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  Status open_fabric(const std::string& host);

  void look(Duration wait);
  bool turn(Sink& sink);
  void hear(Sink& sink, const ConnectionEvent& news);
  void end_with_line(FabricLink& link, const ConnectionEvent& news);
  void welcome(Sink& sink, const ConnectionEvent& news);
  void serve(Sink& sink, FabricLink& link, int& frames_left);
  void retire(FabricLink& link);
  void erase(FabricLink& link);
  void start_anew_if_stuck();

  FabricOptions options_;
  const SteadyClock real_;
  PolledClock clock_;
  EpollSet watch_;  // Must precede all holders of leases: a lease that ends may still wake us.
  FabricLinks links_;
  Bootstrap exchange_;
  Traffic traffic_;
  FrameDelivery delivery_;
  PathMonitor paths_;
  std::string host_;      // Where the endpoint listens.
  bool watched_ = false;  // The provider's descriptor is watched.
  std::vector<ConnectionEvent> news_;
  bool more_ = false;   // Completions are left to collect.
  bool quiet_ = false;  // The fabric delivered nothing in this turn.
  bool called_ = false;
  bool woken_ = false;
  bool polling_ = false;
  Time now_;
  LoopOwner owner_;
};

FabricTransport::~FabricTransport() {
  // Finish first: the ends of lines tell peers that we have finished.
  traffic_.shut();
}

Status FabricTransport::open_fabric(const std::string& host) {
  if (traffic_.is_open()) return {};
  if (Status status = traffic_.open(host); !status.ok()) return status;
  host_ = host;
  watched_ = traffic_.endpoint().descriptor() >= 0;
  if (!watched_) return {};
  return watch_.add(traffic_.endpoint().descriptor(), kFabricToken);
}

Result<std::string> FabricTransport::listen(std::string_view address) {
  if (!exchange_.address().empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {} already; "
                              "make another transport",
                              address, exchange_.address()));
  }
  Result<Listener> listener = listen_at(address);
  if (!listener.ok()) return listener.status();
  if (Status status = open_fabric(listener->host); !status.ok()) return status;
  if (Status status = exchange_.listen(*std::move(listener)); !status.ok()) return status;
  return exchange_.address();
}

Result<LinkId> FabricTransport::connect(std::string_view address) {
  if (links_.all().size() >= options_.max_links) {
    return Status(
        Code::kResource,
        fmt::format("wanted to connect to '{}', but {} links are open, which is the limit; "
                    "raise max_links",
                    address, links_.all().size()));
  }
  Result<Dialled> dialled = dial_to(address);
  const bool nobody =
      dialled.status().code() == Code::kLinkBroken || dialled.status().code() == Code::kRefused;
  if (!dialled.ok() && !nobody) return dialled.status();
  if (!dialled.ok()) {
    FabricLink& link = links_.make(0, options_.queue_frames);
    link.end(dialled.status(), clock_.now());
    links_.touch(link);
    return link.id;
  }
  if (Status status = open_fabric(dialled->host); !status.ok()) return status;
  FabricLink& link = links_.make(0, options_.queue_frames);
  link.local = dialled->local;
  const Result<ConnectionId> line = exchange_.dial(
      *std::move(dialled), introduction_of(link, traffic_.endpoint(), options_), clock_.now());
  if (!line.ok()) {
    links_.erase(link);
    return line.status();
  }
  links_.set_line(link, *line);
  return link.id;
}

Transport::Sent FabricTransport::try_send(LinkId id, const wire::Header& header,
                                          const Buffer& payload) {
  owner_.check_if_owned();
  FabricLink* link = links_.find(id);
  if (link == nullptr) return Sent::kBroken;
  if (link->outbox.full()) traffic_.collect(clock_.now());  // The peer may have reported room.
  if (link->retired || !link->ending.ok()) return Sent::kBroken;
  if (link->outbox.full()) {
    link->told_full = true;
    return Sent::kFull;
  }
  link->outbox.put(header, payload);
  traffic_.submit(*link);
  return Sent::kTaken;
}

bool FabricTransport::is_made(LinkId id) const {
  const FabricLink* link = links_.find(id);
  return link != nullptr && link->far.has_value();
}

bool FabricTransport::is_local(LinkId id) const {
  const FabricLink* link = links_.find(id);
  return link != nullptr && link->local;
}

void FabricTransport::close(LinkId id) {
  FabricLink* link = links_.find(id);
  if (link != nullptr && !link->retired) retire(*link);
}

bool FabricTransport::lingers() const {
  return std::ranges::any_of(links_.all(), [](const auto& one) { return one.second->retired; });
}

Duration FabricTransport::may_wait(Duration wait) const {
  if (more_ || !news_.empty()) return Duration::zero();
  for (const LinkId id : links_.busy()) {
    const FabricLink& link = *links_.find(id);
    if (link.deliverable()) return Duration::zero();
    wait = std::min(wait, link.retired ? kRetiredLookAgain : kLookAgain);
  }
  if (traffic_.is_open()) {
    if (!watched_) wait = std::min(wait, kLookAgain);
    if (wait > Duration::zero() && !traffic_.endpoint().may_wait()) return Duration::zero();
  }
  const Time deadline = exchange_.next_deadline();
  if (deadline == Time::max()) return wait;
  wait = std::min(wait, clock_.most());
  return std::clamp(Duration(deadline - clock_.now()), Duration::zero(), wait);
}

void FabricTransport::poll(Sink& sink, Duration wait) {
  owner_.check();
  const Polling polling(polling_);
  woken_ = false;
  called_ = false;
  look(Duration::zero());
  if (!turn(sink) && !woken_ && wait > Duration::zero()) {
    look(may_wait(wait));
    turn(sink);
  }
}

// Waits for readable descriptors, and reads the lines.
void FabricTransport::look(Duration wait) {
  const std::vector<std::uint64_t>& tokens = watch_.wait(wait, woken_);
  clock_.look();
  now_ = clock_.now();
  for (const std::uint64_t token : tokens) exchange_.look(token, now_, news_);
  exchange_.tick(now_, news_);
  paths_.look(links_, exchange_, now_, news_);
}

// True if the sink was called.
bool FabricTransport::turn(Sink& sink) {
  const Traffic::Collected collected = traffic_.collect(now_);
  more_ = collected.more;
  quiet_ = !collected.any;
  for (const ConnectionEvent& news : std::exchange(news_, {})) hear(sink, news);
  int frames_left = kFramesPerPoll;
  for (std::size_t left = links_.busy().size(); left > 0 && frames_left > 0; --left) {
    serve(sink, links_.next(), frames_left);
  }
  start_anew_if_stuck();
  return called_;
}

void FabricTransport::hear(Sink& sink, const ConnectionEvent& news) {
  if (news.accepted) return welcome(sink, news);
  FabricLink* const known = links_.find_by_line(news.line);
  if (known == nullptr) return exchange_.drop(news.line);  // Closed in the meantime.
  FabricLink& link = *known;
  links_.touch(link);
  if (news.word.has_value()) {
    link.delivery.heard(news.word->came, !news.word->asks);
    if (news.word->asks) exchange_.say(link.line, {false, link.came});
    return;
  }
  if (!news.introduced.has_value()) return end_with_line(link, news);
  if (link.retired || !link.ending.ok()) return;
  link.far = news.introduced;
  link.owes_note = true;  // The note shows the peer that the fabric works.
  link.deadline = now_ + options_.handshake_timeout;
  if (Status status = traffic_.meet(link); !status.ok()) link.end(std::move(status), now_);
}

// A dead path delivers neither frames nor completions of fetches: wait for nothing.
void FabricTransport::end_with_line(FabricLink& link, const ConnectionEvent& news) {
  link.line_ended = true;
  link.end(news.ended, news.dead ? now_ - 2 * kGrace : now_ + kGrace);
}

void FabricTransport::welcome(Sink& sink, const ConnectionEvent& news) {
  if (links_.all().size() >= options_.max_links || !open_fabric(host_).ok()) {
    if (options_.counts != nullptr) ++options_.counts->strangers;
    return exchange_.drop(news.line);
  }
  FabricLink& link = links_.make(news.line, options_.queue_frames);
  link.accepted = true;
  link.local = news.local;
  link.far = news.introduced;
  link.deadline = now_ + options_.handshake_timeout;
  // We answer even if we cannot talk, so that the peer knows why.
  const bool answered =
      exchange_.answer(news.line, introduction_of(link, traffic_.endpoint(), options_));
  if (!answered || !traffic_.meet(link).ok()) {
    if (options_.counts != nullptr) ++options_.counts->strangers;
    return erase(link);
  }
  traffic_.prod(link);
  links_.touch(link);
  called_ = true;
  sink.on_link(link.id);
}

void FabricTransport::serve(Sink& sink, FabricLink& link, int& frames_left) {
  if (!link.retired && delivery_.turn(sink, link, frames_left)) called_ = true;
  if (!link.retired && link.young() && now_ > link.deadline) {
    link.end(not_reached(), now_);
  }
  const bool nothing_came =
      quiet_ && link.line_ended && traffic_.is_open() && traffic_.endpoint().may_wait();
  if (!link.retired && !link.ending.ok() && link.is_over(now_, nothing_came)) {
    const Status why = link.ending;
    const LinkId id = link.id;
    retire(link);
    called_ = true;
    sink.on_broken(id, why);
  }
  if (link.retired && may_go(link, exchange_, now_)) return erase(link);
  if (link.needs_attention()) links_.touch(link);
}

// ---- ends

// The link is over for our user. It stays until neither end reads the other's memory.
void FabricTransport::retire(FabricLink& link) {
  link.retired = true;
  link.deadline = clock_.now() + kGrace;
  traffic_.release_all(link);
  link.outbox.drop_waiting();
  links_.touch(link);
}

void FabricTransport::erase(FabricLink& link) {
  if (traffic_.is_open()) traffic_.forget(link);
  if (link.line != 0) exchange_.drop(link.line);
  links_.erase(link);
}

// A stalled peer may be reading our memory, and libfabric has no call that ends one connection. If
// no live link is left, this ends all connections; the next link reopens the endpoint.
void FabricTransport::start_anew_if_stuck() {
  if (links_.all().empty() || !traffic_.is_open()) return;
  const bool all = std::ranges::all_of(links_.all(), [this](const auto& one) {
    return one.second->retired && now_ > one.second->deadline;
  });
  if (!all) return;
  if (watched_) watch_.remove(traffic_.endpoint().descriptor());
  watched_ = false;
  traffic_.shut();
  while (!links_.all().empty()) erase(*links_.all().begin()->second);
}

Status check(const FabricOptions& options) {
  const bool sizes =
      options.max_payload_bytes > 0 && options.max_payload_bytes <= wire::kMaxPayloadBytes;
  const bool counts = options.queue_frames >= 4 && options.queue_frames <= (1 << 16) &&
                      options.max_links >= 1 && options.max_links <= 16384 &&
                      options.max_silent >= 1 && options.provider.size() <= kMaxProviderBytes;
  if (sizes && counts) return {};
  return {Code::kInvalidArgument,
          fmt::format("libfabric options are out of range: max_payload_bytes {} (1 to {}), "
                      "queue_frames {} (4 to 65536), max_links {} (1 to 16384), max_silent {} (1 "
                      "at least), provider '{}' (at most 32 characters)",
                      options.max_payload_bytes, wire::kMaxPayloadBytes, options.queue_frames,
                      options.max_links, options.max_silent, options.provider)};
}

}  // namespace
}  // namespace fabric

Result<std::unique_ptr<Transport>> make_fabric_transport(const FabricOptions& options) {
  if (Status status = fabric::check(options); !status.ok()) return status;
  if (Result<fabric::Info> found = fabric::find_provider(options.provider, ""); !found.ok()) {
    return found.status();
  }
  auto transport = std::make_unique<fabric::FabricTransport>(options);
  if (Status status = transport->open(); !status.ok()) return status;
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace stretto
