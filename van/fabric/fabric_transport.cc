// SPDX-License-Identifier: Apache-2.0
// The loop: news of lines, what has come over the fabric, and then each link that something has
// happened to gets its turn, a bounded number of frames a poll.
#include "van/fabric/fabric_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/config.h"
#include "van/fabric/polled_clock.h"
#include "van/fabric/traffic.h"
#include "van/polling.h"

namespace stretto {
namespace fabric {
namespace {

constexpr int kFramesPerPoll = 64;
constexpr int kFramesPerTurn = 16;
constexpr std::uint64_t kFabricToken = NameExchange::kListenerToken - 1;
// How often is looked where no descriptor tells: while the provider makes its connection, when it
// took no more, when a line has ended, and always for providers that have no descriptor.
constexpr Duration kLookAgain = 1ms;
// How often retired links are looked at.
constexpr Duration kRetiredLookAgain = 10ms;
// For how long what a dead peer sent may still be on its way to us, and for how long a far end may
// take to say that it reads nothing more of ours.
constexpr Duration kGrace = 1s;
// Of what is said to be missing, times the limit for dead paths: large payloads and slow paths have
// it wait behind others.
constexpr int kLostFrames = 3;
// Turns in which the provider has nothing from anybody until nothing more is expected of a peer.
constexpr int kQuietTurns = 3;
// Nobody is given up for being late before we have looked so often, and as often as this.
constexpr int kLooksAtLeast = 10;
constexpr Duration kLookForLate = 100ms;

Duration most_between_looks(const FabricOptions& options) {
  const Duration shortest = std::min(options.connect_timeout, options.handshake_timeout);
  return std::clamp<Duration>(shortest / kLooksAtLeast, 1ms, kLookForLate);
}

/// Thread: loop, but for wake().
class FabricTransport final : public Transport {
 public:
  explicit FabricTransport(const FabricOptions& options)
      : options_(options),
        clock_(most_between_looks(options)),
        exchange_(watch_, options_),
        traffic_(options_, links_, [this](Link& link) { touch(link); }) {}
  ~FabricTransport() override;
  Status open() { return watch_.open(); }

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId id, const wire::Header& header, const Buffer& payload) override;
  void close(LinkId id) override;
  void poll(Sink& sink, Duration wait) override;
  void wake() override { watch_.wake(); }
  bool lingers() const override;
  void set_dead_after(Duration limit) override { dead_after_ = limit; }
  bool is_local(LinkId id) const override;
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  Status open_fabric(const std::string& host);
  Link& make_link(LineId line);
  Link* find(LinkId id) const;
  Introduction introduction_of(const Link& link) const;
  void touch(Link& link);

  void look(Duration wait);
  bool turn(Sink& sink);
  void hear(Sink& sink, const LineNews& news);
  void end_with_line(Link& link, const LineNews& news);
  void welcome(Sink& sink, const LineNews& news);
  void look_at_links();
  void serve(Sink& sink, Link& link, int& frames_left);
  void deliver(Sink& sink, Link& link, int& frames_left);
  void deliver_head(Sink& sink, Link& link);
  Buffer payload_of(Arrival& arrival);
  bool is_over(Link& link) const;
  void retire(Link& link);
  bool may_go(Link& link);
  void erase(Link& link);
  void start_anew_if_stuck();
  bool needs_attention(const Link& link) const;

  FabricOptions options_;
  PolledClock clock_;
  Watch watch_;  // Before all that holds leases: one that ends may still wake us.
  Links links_;
  NameExchange exchange_;
  Traffic traffic_;
  std::string host_;      // Where the endpoint is.
  bool watched_ = false;  // The provider's descriptor is watched.
  std::unordered_map<LineId, LinkId> by_line_;
  LinkId last_ = 0;
  std::deque<LinkId> busy_;  // Links that need attention without news.
  std::vector<LineNews> news_;
  bool more_ = false;   // Completions were left where they are.
  bool quiet_ = false;  // Nothing had come over the fabric in this turn.
  bool called_ = false;
  bool woken_ = false;
  bool polling_ = false;
  Time now_;
  Duration dead_after_ = JobSettings().dead_after;
  const SteadyClock real_clock_;  // Far ends are silent also while nobody polls here.
  Time next_look_at_links_;
  std::thread::id owner_;
};

FabricTransport::~FabricTransport() {
  // The far end must not hear that we have finished before we have.
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
  if (links_.size() >= options_.max_links) {
    return Status(
        Code::kResource,
        fmt::format("wanted to connect to '{}', but {} links are open, which is the limit; "
                    "raise max_links",
                    address, links_.size()));
  }
  Result<Dialled> dialled = dial_to(address);
  if (!dialled.ok() && dialled.status().code() != Code::kLinkBroken) return dialled.status();
  if (!dialled.ok()) {
    Link& link = make_link(0);
    link.end(dialled.status(), clock_.now());
    touch(link);
    return link.id;
  }
  if (Status status = open_fabric(dialled->host); !status.ok()) return status;
  Link& link = make_link(0);
  link.local = dialled->local;
  const Result<LineId> line =
      exchange_.dial(*std::move(dialled), introduction_of(link), clock_.now());
  if (!line.ok()) {
    links_.erase(link.id);
    return line.status();
  }
  link.line = *line;
  by_line_.emplace(link.line, link.id);
  return link.id;
}

Link& FabricTransport::make_link(LineId line) {
  const LinkId id = ++last_;
  auto made = std::make_unique<Link>(id, line, options_.queue_frames);
  fill_randomly(std::span(&made->secret, 1));
  if (line != 0) by_line_.emplace(line, id);
  return *links_.emplace(id, std::move(made)).first->second;
}

Link* FabricTransport::find(LinkId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

Introduction FabricTransport::introduction_of(const Link& link) const {
  return {.provider = traffic_.endpoint().provider(),
          .name = traffic_.endpoint().name(),
          .link = link.id,
          .secret = link.secret,
          .queue_frames = static_cast<std::uint32_t>(options_.queue_frames)};
}

void FabricTransport::touch(Link& link) {
  if (!std::exchange(link.busy, true)) busy_.push_back(link.id);
}

Transport::Sent FabricTransport::try_send(LinkId id, const wire::Header& header,
                                          const Buffer& payload) {
  Link* link = find(id);
  if (link == nullptr) return Sent::kBroken;
  if (link->outbox.full()) traffic_.collect(clock_.now());  // They may have told us of room.
  if (link->retired || !link->ending.ok()) return Sent::kBroken;
  if (link->outbox.full()) {
    link->told_full = true;
    return Sent::kFull;
  }
  link->outbox.put(header, payload);
  traffic_.hand_over(*link);
  return Sent::kTaken;
}

bool FabricTransport::is_local(LinkId id) const {
  const Link* link = find(id);
  return link != nullptr && link->local;
}

void FabricTransport::close(LinkId id) {
  Link* link = find(id);
  if (link != nullptr && !link->retired) retire(*link);
}

bool FabricTransport::lingers() const {
  return std::ranges::any_of(links_, [](const auto& one) { return one.second->retired; });
}

Duration FabricTransport::may_wait(Duration wait) const {
  if (more_ || !news_.empty()) return Duration::zero();
  for (const LinkId id : busy_) {
    const Link& link = *links_.at(id);
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
  if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
  STRETTO_CHECK(owner_ == std::this_thread::get_id());
  const Polling polling(polling_);
  woken_ = false;
  called_ = false;
  look(Duration::zero());
  if (!turn(sink) && !woken_ && wait > Duration::zero()) {
    look(may_wait(wait));
    turn(sink);
  }
}

// Waits until something is readable, and reads what lines have to say.
void FabricTransport::look(Duration wait) {
  const std::vector<std::uint64_t>& tokens = watch_.wait(wait, woken_);
  clock_.look();
  now_ = clock_.now();
  for (const std::uint64_t token : tokens) exchange_.look(token, now_, news_);
  exchange_.tick(now_, news_);
  look_at_links();
}

// Whether paths are dead, and whether the provider does what it was given.
void FabricTransport::look_at_links() {
  const Time now = real_clock_.now();
  if (now < next_look_at_links_) return;
  next_look_at_links_ = now + LinkLiveness::interval(dead_after_);
  exchange_.look_at_paths(now, dead_after_, news_);
  for (const auto& [id, link] : links_) {
    if (link->retired || !link->may_speak() || !link->ending.ok()) continue;
    if (link->delivery.look(link->counts(), now)) exchange_.say(link->line, {true, link->came});
    if (!link->delivery.lost_for(kLostFrames * dead_after_, now)) continue;
    link->end(frames_are_missing(), now_);
    touch(*link);
  }
}

// True if the sink was called.
bool FabricTransport::turn(Sink& sink) {
  const Traffic::Collected collected = traffic_.collect(now_);
  more_ = collected.more;
  quiet_ = !collected.any;
  for (const LineNews& news : std::exchange(news_, {})) hear(sink, news);
  int frames_left = kFramesPerPoll;
  for (std::size_t left = busy_.size(); left > 0 && frames_left > 0; --left) {
    Link& link = *links_.at(busy_.front());
    busy_.pop_front();
    link.busy = false;
    serve(sink, link, frames_left);
  }
  start_anew_if_stuck();
  return called_;
}

void FabricTransport::hear(Sink& sink, const LineNews& news) {
  if (news.accepted) return welcome(sink, news);
  const auto found = by_line_.find(news.line);
  if (found == by_line_.end()) return exchange_.drop(news.line);  // Closed since.
  Link& link = *links_.at(found->second);
  touch(link);
  if (news.word.has_value()) {
    link.delivery.heard(news.word->came, !news.word->asks);
    if (news.word->asks) exchange_.say(link.line, {false, link.came});
    return;
  }
  if (!news.introduced.has_value()) return end_with_line(link, news);
  if (link.retired || !link.ending.ok()) return;
  link.far = news.introduced;
  link.owes_note = true;  // By which the far end knows that the fabric carries.
  link.deadline = now_ + options_.handshake_timeout;
  if (Status status = traffic_.meet(link); !status.ok()) link.end(std::move(status), now_);
}

// Over a dead path neither frames nor the ends of fetches come any more: nothing is waited for.
void FabricTransport::end_with_line(Link& link, const LineNews& news) {
  link.line_ended = true;
  link.end(news.ended, news.dead ? now_ - 2 * kGrace : now_ + kGrace);
}

void FabricTransport::welcome(Sink& sink, const LineNews& news) {
  if (links_.size() >= options_.max_links || !open_fabric(host_).ok()) {
    if (options_.counts != nullptr) ++options_.counts->strangers;
    return exchange_.drop(news.line);
  }
  Link& link = make_link(news.line);
  link.accepted = true;
  link.local = news.local;
  link.far = news.introduced;
  link.deadline = now_ + options_.handshake_timeout;
  // Told also if we shall not talk: then they know why.
  const bool answered = exchange_.answer(news.line, introduction_of(link));
  if (!answered || !traffic_.meet(link).ok()) {
    if (options_.counts != nullptr) ++options_.counts->strangers;
    return erase(link);
  }
  touch(link);
  called_ = true;
  sink.on_link(link.id);
}

void FabricTransport::serve(Sink& sink, Link& link, int& frames_left) {
  if (!link.retired) deliver(sink, link, frames_left);
  if (!link.retired && link.young() && now_ > link.deadline) {
    link.end(not_reached(), now_);
  }
  if (!link.retired && !link.ending.ok() && is_over(link)) {
    const Status why = link.ending;
    const LinkId id = link.id;
    retire(link);
    called_ = true;
    sink.on_broken(id, why);
  }
  if (link.retired && may_go(link)) return erase(link);
  if (needs_attention(link)) touch(link);
}

bool FabricTransport::needs_attention(const Link& link) const {
  return link.deliverable() || link.stuck || link.fetch_stuck || link.young() || link.retired ||
         !link.ending.ok();
}

void FabricTransport::deliver(Sink& sink, Link& link, int& frames_left) {
  traffic_.fetch(link);
  for (int i = 0; i < kFramesPerTurn && frames_left > 0 && link.deliverable(); ++i) {
    --frames_left;
    deliver_head(sink, link);
  }
  if (link.retired) return;
  traffic_.fetch(link);
  traffic_.hand_over(link);
  if (link.told_full && link.outbox.half_empty() && link.ending.ok()) {
    link.told_full = false;
    called_ = true;
    sink.on_writable(link.id);
  }
}

void FabricTransport::deliver_head(Sink& sink, Link& link) {
  Arrival arrival = std::move(link.arrivals.front());
  link.arrivals.pop_front();
  ++link.delivered;
  // The sender's lease on a large one ends when it is told; for small ones only its room does.
  const bool large = arrival.prefix.kind == MessageKind::kAnnounce;
  if (large || link.delivered - link.told >= options_.queue_frames / 4) link.owes_note = true;
  const wire::HeaderView header(&arrival.slot->memory[kPrefixBytes], wire::kHeaderBytes);
  Buffer payload = payload_of(arrival);
  called_ = true;
  sink.on_frame(link.id, header, std::move(payload));
  traffic_.release(arrival.slot);
}

Buffer FabricTransport::payload_of(Arrival& arrival) {
  if (arrival.prefix.kind == MessageKind::kAnnounce) return std::move(arrival.payload);
  const std::size_t bytes = arrival.prefix.bytes;
  if (bytes == 0) return {};
  if (options_.counts != nullptr) options_.counts->copied_bytes += bytes;
  const std::span<const std::byte> from = arrival.slot->memory.subspan(kHeadBytes, bytes);
  return Buffer::copy_of(from);
}

// ---- ends

// What has come has been delivered, nothing is being fetched, and nothing more is on its way from
// the provider: what a peer sent just before its end may reach us after the news of that.
bool FabricTransport::is_over(Link& link) const {
  if (link.deliverable()) return false;
  if (!link.far.has_value() || now_ > link.deadline + kGrace) return true;
  if (link.fetches > 0) return false;
  if (!link.line_ended) return true;
  link.quiet = quiet_ && traffic_.endpoint().may_wait() ? link.quiet + 1 : 0;
  return link.quiet >= kQuietTurns || now_ > link.deadline;
}

// The link is over for our user. It stays until nobody reads the other's memory.
void FabricTransport::retire(Link& link) {
  link.retired = true;
  link.deadline = clock_.now() + kGrace;
  traffic_.release_all(link);
  link.outbox.drop_waiting();
  touch(link);
}

bool FabricTransport::may_go(Link& link) {
  if (link.line == 0 || !link.far.has_value()) return true;
  if (link.fetches > 0) return false;
  // Its end says to the far end that we have no fetches under way, and begin no more.
  if (!std::exchange(link.finished, true)) exchange_.finish(link.line);
  return link.line_ended || (now_ > link.deadline && !link.outbox.exposes());
}

void FabricTransport::erase(Link& link) {
  if (traffic_.is_open()) traffic_.forget(link);
  if (link.busy) std::erase(busy_, link.id);
  if (link.line != 0) {
    by_line_.erase(link.line);
    exchange_.drop(link.line);
  }
  links_.erase(link.id);
}

// A far end that stands still may be in the middle of reading our memory, and libfabric has no call
// that ends one connection. If no link is left that would suffer, all of them are ended; the next
// link opens the endpoint again.
void FabricTransport::start_anew_if_stuck() {
  if (links_.empty() || !traffic_.is_open()) return;
  const bool all = std::ranges::all_of(links_, [this](const auto& one) {
    return one.second->retired && now_ > one.second->deadline;
  });
  if (!all) return;
  if (watched_) watch_.remove(traffic_.endpoint().descriptor());
  watched_ = false;
  traffic_.shut();
  while (!links_.empty()) erase(*links_.begin()->second);
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
