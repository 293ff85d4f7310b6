// SPDX-License-Identifier: Apache-2.0
// The loop over the sockets: ready sockets get turns in order, and a poll delivers a bounded number
// of frames. libzmq's descriptors are edge-triggered: a call on a socket may consume its signal. So
// a socket stays ready until a read has found nothing, and a socket used to send is checked again
// before the transport waits.
#include "van/zmq/zmq_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/clock.h"
#include "common/config/config.h"
#include "common/network/socket_address.h"
#include "common/threads/loop_owner.h"
#include "van/transport/epoll_set.h"
#include "van/transport/path_liveness.h"
#include "van/transport/resolver.h"
#include "van/transport/tcp_info.h"
#include "van/transport/tcp_sockets.h"
#include "van/zmq/accepted_links.h"
#include "van/zmq/connected_link.h"
#include "van/zmq/zap_handler.h"

namespace stretto {
namespace zmq {
namespace {

constexpr int kFramesPerPoll = 64;
constexpr int kFramesPerTurn = 16;
constexpr int kIoThreads = 1;
// The listener's id among connected links.
constexpr LinkId kListener = 0;

// Tokens of the watch: a link id, and whether it is the socket or the monitor.
constexpr std::uint64_t socket_token(LinkId link) { return std::uint64_t{link} << 1; }
constexpr std::uint64_t monitor_token(LinkId link) { return socket_token(link) | 1; }

/// Links in the order of their turns; each at most once. Thread: loop.
class TurnQueue {
 public:
  void add(LinkId link, bool& queued) {
    if (!std::exchange(queued, true)) links_.push_back(link);
  }
  bool empty() const { return links_.empty(); }
  LinkId front() const { return links_.front(); }
  void pop() { links_.pop_front(); }

 private:
  std::deque<LinkId> links_;
};

Status add_to(EpollSet& watch, int socket, int monitor, LinkId link) {
  Status status = watch.add(socket, socket_token(link));
  if (!status.ok()) return status;
  status = watch.add(monitor, monitor_token(link));
  if (!status.ok()) watch.remove(socket);
  return status;
}

/// Thread: loop, but for wake().
class ZmqTransport final : public Transport {
 public:
  ZmqTransport(const ZmqOptions& options, ZmqContext context)
      : options_(options), context_(std::move(context)) {}
  Status open();

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override;
  void admit(LinkId link) override {
    if (listener_ != nullptr) listener_->connections().book().admit(link);
  }
  void close(LinkId link) override;
  void poll(Sink& sink, Duration wait) override;
  void poll_unsignalled(Sink& sink) override;
  void wake() override { watch_.wake(); }
  std::optional<bool> has_come(Asked asked) override;
  void flush() override;
  bool lingers() const override { return listener_ != nullptr && listener_->lingers(); }
  void set_dead_after(Duration limit) override { dead_after_ = limit; }
  bool is_local(LinkId link) const override;
  std::optional<RoundTrips> round_trips(LinkId link) const override;
  bool is_made(LinkId link) const override;
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  struct Dialed {
    std::unique_ptr<ConnectedLink> link;
    bool ready = false;  // Is in ready_.
    bool sent = false;   // Is in sent_.
  };

  void notice(std::uint64_t token);
  void make_ready(LinkId link);
  void take_turn(Sink& sink);
  int give_turn(Sink& sink, LinkId link, int limit);
  void look_at_paths();
  void bury(LinkId link);

  const ZmqOptions options_;
  const SteadyClock clock_;
  EpollSet watch_;  // Before the context: a lease that ends with it may still wake us.
  std::unique_ptr<ZapHandler> zap_;  // Must end after the context.
  ZmqContext context_;  // Before the sockets: it ends after them, when all leases have ended.
  LinkIds ids_;
  std::unique_ptr<AcceptedLinks> listener_;
  bool listener_ready_ = false;
  bool listener_sent_ = false;
  std::unordered_map<LinkId, Dialed> dialed_;
  std::vector<std::unique_ptr<ConnectedLink>> buried_;  // Over, but perhaps on the call stack.
  TurnQueue ready_;
  NameLookups lookups_;
  std::vector<LinkId> sent_;  // Used to send; must be checked for messages.
  Duration dead_after_ = JobSettings().dead_after;
  Time next_look_at_paths_;
  bool woken_ = false;
  bool polling_ = false;
  LoopOwner owner_;
};

Status ZmqTransport::open() {
  if (Status status = watch_.open(); !status.ok()) return status;
  if (options_.mechanism == ZmqMechanism::kNull) return {};
  Result<std::unique_ptr<ZapHandler>> zap = ZapHandler::start(context_, options_.keys);
  if (!zap.ok()) return zap.status();
  zap_ = *std::move(zap);
  return {};
}

Result<std::string> ZmqTransport::listen(std::string_view address) {
  if (listener_ != nullptr) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {} already; "
                              "make another transport",
                              address, listener_->connections().address()));
  }
  Result<std::unique_ptr<AcceptedLinks>> made =
      AcceptedLinks::open(context_, options_, ids_, address);
  if (!made.ok()) return made.status();
  Status status = add_to(watch_, (*made)->descriptor(),
                         (*made)->connections().monitor().descriptor(), kListener);
  if (!status.ok()) return status;
  listener_ = *std::move(made);
  make_ready(kListener);
  return listener_->connections().address();
}

Result<LinkId> ZmqTransport::connect(std::string_view address) {
  const std::size_t links =
      dialed_.size() + (listener_ == nullptr ? 0 : listener_->book().links().size());
  if (links >= options_.max_links) {
    return Status(Code::kResource,
                  fmt::format("wanted to connect to '{}', but {} links are open, which is the "
                              "limit; raise max_links",
                              address, links));
  }
  const Result<HostPort> to = remote_address(address);
  if (!to.ok()) return to.status();
  const LinkId link = ids_.next();
  Result<std::unique_ptr<ConnectedLink>> made =
      ConnectedLink::open(context_, options_, link, address);
  if (!made.ok()) return made.status();
  Status status = add_to(watch_, (*made)->descriptor(), (*made)->monitor_descriptor(), link);
  if (!status.ok()) return status;
  ConnectedLink& opened = *(dialed_[link].link = *std::move(made));
  const auto digits = SocketAddress::from_digits(to->host, to->port);
  status = digits ? opened.dial(*digits) : lookups_.begin(link, *to, [this] { watch_.wake(); });
  if (!status.ok()) {
    bury(link);
    return status;
  }
  make_ready(link);
  return link;
}

Transport::Sent ZmqTransport::try_send(LinkId link, const wire::Header& header,
                                       const Buffer& payload) {
  owner_.check_if_owned();
  const auto found = dialed_.find(link);
  if (found == dialed_.end() && listener_ == nullptr) return Sent::kBroken;
  const bool by_listener = found == dialed_.end();
  bool& sent = by_listener ? listener_sent_ : found->second.sent;
  if (!std::exchange(sent, true)) sent_.push_back(by_listener ? kListener : link);
  return by_listener ? listener_->sender().send(link, header, payload)
                     : found->second.link->send(header, payload);
}

void ZmqTransport::close(LinkId link) {
  if (dialed_.contains(link)) {
    bury(link);
  } else if (listener_ != nullptr) {
    listener_->close(link);
    make_ready(kListener);
  }
}

void ZmqTransport::bury(LinkId link) {
  auto node = dialed_.extract(link);
  ConnectedLink& over = *node.mapped().link;
  if (!over.over()) over.close();
  watch_.remove(over.descriptor());
  watch_.remove(over.monitor_descriptor());
  if (polling_) buried_.push_back(std::move(node.mapped().link));
}

bool ZmqTransport::is_local(LinkId link) const {
  const auto found = dialed_.find(link);
  if (found != dialed_.end()) return found->second.link->is_local();
  const AcceptedLink* accepted = listener_ == nullptr ? nullptr : listener_->book().find_link(link);
  return accepted != nullptr && accepted->local;
}

bool ZmqTransport::is_made(LinkId link) const {
  const auto found = dialed_.find(link);
  if (found != dialed_.end()) return found->second.link->is_made();
  return listener_ != nullptr && listener_->book().find_link(link) != nullptr;
}

std::optional<Transport::RoundTrips> ZmqTransport::round_trips(LinkId link) const {
  const auto found = dialed_.find(link);
  if (found != dialed_.end()) return found->second.link->round_trips();
  const AcceptedLink* accepted = listener_ == nullptr ? nullptr : listener_->book().find_link(link);
  if (accepted == nullptr || !accepted->sure || accepted->ended) return std::nullopt;
  return round_trips_of(accepted->descriptor);
}

void ZmqTransport::make_ready(LinkId link) {
  ready_.add(link, link == kListener ? listener_ready_ : dialed_.at(link).ready);
}

// Submits the batches, and checks whether the calls have consumed the descriptors' signals. An
// exception leaves the list.
void ZmqTransport::flush() {
  for (const LinkId link : sent_) {
    if (link == kListener) {
      listener_->sender().flush();
      if (listener_->has_come() || listener_->has_ended()) make_ready(kListener);
      listener_sent_ = false;
      continue;
    }
    const auto found = dialed_.find(link);
    if (found == dialed_.end()) continue;
    found->second.link->flush();
    if (found->second.link->has_come()) make_ready(link);
    found->second.sent = false;
  }
  sent_.clear();
}

std::optional<bool> ZmqTransport::has_come(Asked asked) {
  if (asked == Asked::kSystem) return watch_.has_come();
  return !ready_.empty() || !sent_.empty();
}

Duration ZmqTransport::may_wait(Duration wait) const {
  if (!ready_.empty() || !sent_.empty()) return Duration::zero();
  if (listener_ != nullptr) wait = listener_->may_wait(wait);
  // The paths must be checked regularly: PathLiveness takes a long gap for a suspended loop.
  if (listener_ != nullptr || !dialed_.empty()) {
    wait = std::min(wait, std::max(Duration::zero(), Duration(next_look_at_paths_ - clock_.now())));
  }
  return wait;
}

void ZmqTransport::poll(Sink& sink, Duration wait) {
  owner_.check();
  const Polling polling(polling_);
  flush();
  for (const std::uint64_t token : watch_.wait(may_wait(wait), woken_)) notice(token);
  take_turn(sink);
}

void ZmqTransport::poll_unsignalled(Sink& sink) {
  owner_.check();
  const Polling polling(polling_);
  flush();
  take_turn(sink);
}

void ZmqTransport::notice(std::uint64_t token) {
  const auto link = static_cast<LinkId>(token >> 1);
  if ((token & 1) != 0) {
    if (link == kListener) {
      listener_->connections().read_events();
    } else {
      dialed_.at(link).link->watch();
    }
  }
  make_ready(link);
}

void ZmqTransport::take_turn(Sink& sink) {
  for (const auto& [link, found] : lookups_.take_done()) {
    const auto dialed = dialed_.find(link);
    if (dialed == dialed_.end()) continue;  // Closed in the meantime.
    dialed->second.link->dial_found(found);
    make_ready(link);
  }
  for (int left = kFramesPerPoll; left > 0 && !ready_.empty();) {
    left -= std::max(give_turn(sink, ready_.front(), std::min(left, kFramesPerTurn)), 1);
  }
  if (listener_ != nullptr) listener_->sender().offer_room(sink, clock_.now());
  flush();  // The sink's replies.
  look_at_paths();
  if (listener_ != nullptr) {
    listener_->look_around();
    if (listener_->has_ended() || listener_->connections().wants_read()) make_ready(kListener);
  }
  buried_.clear();
}

void ZmqTransport::look_at_paths() {
  const Time now = clock_.now();
  if (now < next_look_at_paths_) return;
  next_look_at_paths_ = now + PathLiveness::interval(dead_after_);
  if (listener_ != nullptr) {
    listener_->look_at_paths(now, dead_after_);
    if (listener_->has_come()) make_ready(kListener);
  }
  for (const auto& [number, dialed] : dialed_) {
    dialed.link->look_at_path(now, dead_after_);
    if (dialed.link->has_come()) make_ready(number);
  }
}

// An exception from a callback leaves the socket in the queue.
int ZmqTransport::give_turn(Sink& sink, LinkId link, int limit) {
  Turn turn;
  if (link == kListener) {
    turn = listener_->receive(sink, limit);
    ready_.pop();
    listener_ready_ = false;
    if (turn.more) make_ready(kListener);
    return turn.frames;
  }
  const auto found = dialed_.find(link);
  if (found != dialed_.end()) turn = found->second.link->receive(sink, limit);
  ready_.pop();
  const auto still = dialed_.find(link);  // A callback may have closed it.
  if (still == dialed_.end()) return turn.frames;
  still->second.ready = false;
  if (still->second.link->over()) {
    bury(link);
  } else if (turn.more) {
    make_ready(link);
  }
  return turn.frames;
}

Status check(const ZmqOptions& options) {
  const bool sizes =
      options.max_payload_bytes > 0 && options.max_payload_bytes <= wire::kMaxPayloadBytes;
  const bool counts = options.queue_frames >= 1 && options.queue_frames <= (1 << 20) &&
                      options.max_links >= 1 && options.max_links <= 16384;
  if (!sizes || !counts) {
    return {Code::kInvalidArgument,
            fmt::format("ZeroMQ options are out of range: max_payload_bytes {} (1 to {}), "
                        "queue_frames {} (1 to 1048576), max_links {} (1 to 16384)",
                        options.max_payload_bytes, wire::kMaxPayloadBytes, options.queue_frames,
                        options.max_links)};
  }
  if (options.mechanism == ZmqMechanism::kNull) return {};
  STRETTO_CHECK(options.keys != nullptr);
  if (options.mechanism == ZmqMechanism::kPlain || zmq_has("curve") == 1) return {};
  return {Code::kUnsupported,
          "the libzmq of this host has no CURVE, so links cannot be encrypted; install one that "
          "was built with libsodium"};
}

}  // namespace
}  // namespace zmq

Result<std::unique_ptr<Transport>> make_zmq_transport(const ZmqOptions& options) {
  if (Status status = zmq::check(options); !status.ok()) return status;
  // A connected link has three sockets: itself and both ends of its monitor.
  const auto sockets = static_cast<int>(3 * (options.max_links + 4));
  Result<zmq::ZmqContext> context = zmq::open_context(zmq::kIoThreads, sockets);
  if (!context.ok()) return context.status();
  auto transport = std::make_unique<zmq::ZmqTransport>(options, *std::move(context));
  if (Status status = transport->open(); !status.ok()) return status;
  return std::unique_ptr<Transport>(std::move(transport));
}

bool has_zmq() { return true; }

}  // namespace stretto
