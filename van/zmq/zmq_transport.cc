// SPDX-License-Identifier: Apache-2.0
// The loop over the sockets: who has something gets a turn, in order, a bounded number of frames a
// poll. A socket is in `ready_` from when its descriptor was readable, or it was used to send
// (which may swallow that signal), until a read has found nothing.
#include "van/zmq/zmq_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "common/loop_owner.h"
#include "van/polling.h"
#include "van/watch.h"
#include "van/zmq/accepted_links.h"
#include "van/zmq/dealer_link.h"

namespace stretto {
namespace zmq {
namespace {

constexpr int kFramesPerPoll = 64;
constexpr int kFramesPerTurn = 16;
// Stands for all accepted links, and their listener, where DEALERs are named by their link.
constexpr LinkId kAccepted = 0;

/// Thread: loop, but for wake().
class ZmqTransport final : public Transport {
 public:
  ZmqTransport(const ZmqOptions& options, Context context)
      : options_(options), context_(std::move(context)) {}
  Status open() { return watch_.open(); }

  Result<std::string> listen(std::string_view address) override;
  Result<LinkId> connect(std::string_view address) override;
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override;
  void admit(LinkId link) override;
  void close(LinkId link) override;
  void poll(Sink& sink, Duration wait) override;
  void wake() override { watch_.wake(); }
  void set_dead_after(Duration limit) override { dead_after_ = limit; }
  bool is_local(LinkId link) const override;
  int descriptor() const override { return watch_.descriptor(); }
  Duration may_wait(Duration wait) const override;

 private:
  struct Dealer {
    std::unique_ptr<DealerLink> link;
    bool ready = false;    // Is in ready_.
    bool batched = false;  // Is in batched_.
  };

  Status watch(const DealerLink& dealer, LinkId link);
  void unwatch(const DealerLink& dealer);
  void make_ready(LinkId link);
  void flush();
  void look(Duration wait);
  void look_at_accepted(LinkId link);
  bool deliver(Sink& sink);
  Turn give_turn(Sink& sink, LinkId link, int limit);
  void bury(LinkId link);
  void poll_links(Sink& sink, Duration wait);
  void look_at_paths(Sink& sink);

  ZmqOptions options_;
  Watch watch_;      // Before the context: a lease that ends with that may still wake us.
  Context context_;  // Before the sockets: it ends after them, when all leases have.
  LinkIds ids_;
  std::unique_ptr<AcceptedLinks> accepted_;
  bool accepted_ready_ = false;
  std::unordered_map<LinkId, Dealer> dealers_;
  std::vector<std::unique_ptr<DealerLink>> buried_;  // Over, but perhaps on the call stack.
  std::deque<LinkId> ready_;
  std::vector<LinkId> batched_;  // Dealers that have been given frames, which may leave together.
  Duration dead_after_ = JobSettings().dead_after;
  const SteadyClock clock_;
  Time next_look_at_paths_;
  bool woken_ = false;
  bool polling_ = false;
  LoopOwner owner_;
};

Status ZmqTransport::watch(const DealerLink& dealer, LinkId link) {
  if (Status status = watch_.add(dealer.descriptor(), socket_token(link)); !status.ok()) {
    return status;
  }
  Status status = watch_.add(dealer.monitor_descriptor(), monitor_token(link));
  if (!status.ok()) watch_.remove(dealer.descriptor());
  return status;
}

void ZmqTransport::unwatch(const DealerLink& dealer) {
  watch_.remove(dealer.descriptor());
  watch_.remove(dealer.monitor_descriptor());
}

Result<std::string> ZmqTransport::listen(std::string_view address) {
  if (accepted_ != nullptr) {
    return Status(Code::kInvalidArgument,
                  fmt::format("wanted to listen at '{}', but this transport listens at {} already; "
                              "make another transport",
                              address, accepted_->address()));
  }
  Result<ListeningSocket> listener =
      ListeningSocket::open(address, watch_, socket_token(kAccepted));
  if (!listener.ok()) return listener.status();
  accepted_ = std::make_unique<AcceptedLinks>(options_, ids_, watch_, *std::move(listener));
  return accepted_->address();
}

Result<LinkId> ZmqTransport::connect(std::string_view address) {
  const std::size_t accepted = accepted_ == nullptr ? 0 : accepted_->size();
  if (dealers_.size() + accepted >= options_.max_links) {
    return Status(
        Code::kResource,
        fmt::format("wanted to connect to '{}', but {} links are open, which is the limit; "
                    "raise max_links",
                    address, dealers_.size() + accepted));
  }
  const LinkId link = ids_.next();
  Result<std::unique_ptr<DealerLink>> made = DealerLink::connect(context_, options_, link, address);
  if (!made.ok()) return made.status();
  if (Status status = watch(**made, link); !status.ok()) return status;
  dealers_[link].link = *std::move(made);
  make_ready(link);
  return link;
}

Transport::Sent ZmqTransport::try_send(LinkId link, const wire::Header& header,
                                       const Buffer& payload) {
  owner_.check_if_owned();
  if (const auto found = dealers_.find(link); found != dealers_.end()) {
    const Sent sent = found->second.link->send(header, payload);
    if (!std::exchange(found->second.batched, true)) batched_.push_back(link);
    make_ready(link);
    return sent;
  }
  return accepted_ == nullptr ? Sent::kBroken : accepted_->send(link, header, payload);
}

void ZmqTransport::admit(LinkId link) {
  if (accepted_ != nullptr) accepted_->admit(link);
}

void ZmqTransport::close(LinkId link) {
  if (dealers_.count(link) != 0) {
    bury(link);
  } else if (accepted_ != nullptr) {
    accepted_->close(link);
  }
}

bool ZmqTransport::is_local(LinkId link) const {
  const auto found = dealers_.find(link);
  if (found != dealers_.end()) return found->second.link->is_local();
  return accepted_ != nullptr && accepted_->is_local(link);
}

Duration ZmqTransport::may_wait(Duration wait) const {
  if (!ready_.empty()) return Duration::zero();
  // Looks at paths that are far apart would look like standing still.
  if (!dealers_.empty() || accepted_ != nullptr) {
    wait = std::min(wait, std::max(Duration::zero(), Duration(next_look_at_paths_ - clock_.now())));
  }
  return accepted_ == nullptr ? wait : accepted_->may_wait(wait);
}

void ZmqTransport::bury(LinkId link) {
  auto node = dealers_.extract(link);
  DealerLink& dealer = *node.mapped().link;
  dealer.flush();
  dealer.close();
  unwatch(dealer);
  if (polling_) buried_.push_back(std::move(node.mapped().link));
}

void ZmqTransport::poll(Sink& sink, Duration wait) {
  owner_.check();
  poll_links(sink, wait);
  buried_.clear();
}

void ZmqTransport::poll_links(Sink& sink, Duration wait) {
  const Polling polling(polling_);
  woken_ = false;
  flush();
  look(wait);
  // What was ready only because it had been used to send has nothing to deliver: then wait.
  if (!deliver(sink) && !woken_ && wait > Duration::zero()) {
    flush();
    look(wait);
    deliver(sink);
  }
  flush();  // What the sink has answered.
  look_at_paths(sink);
  if (accepted_ != nullptr) {
    accepted_->offer_room(sink);
    accepted_->hang_up_on_strangers(sink);
    accepted_->bury();
  }
}

void ZmqTransport::look_at_paths(Sink& sink) {
  const Time now = clock_.now();
  if (now < next_look_at_paths_) return;
  next_look_at_paths_ = now + LinkLiveness::interval(dead_after_);
  for (auto& [link, dealer] : dealers_) {
    if (dealer.link->look_at_path(now, dead_after_)) make_ready(link);
  }
  if (accepted_ != nullptr) accepted_->look_at_paths(sink, now, dead_after_);
}

// Submits what waits to leave together. Sockets that were sent by must be looked at.
void ZmqTransport::flush() {
  if (accepted_ != nullptr) accepted_->flush();
  for (const LinkId link : std::exchange(batched_, {})) {
    const auto found = dealers_.find(link);
    if (found == dealers_.end()) continue;
    found->second.batched = false;
    if (found->second.link->flush()) make_ready(link);
  }
}

// Waits until something can be read or written, and notes who is meant.
void ZmqTransport::look(Duration wait) {
  for (const std::uint64_t token : watch_.wait(may_wait(wait), woken_)) {
    const auto link = static_cast<LinkId>(token >> 1);
    const auto dealer = dealers_.find(link);
    if (dealer == dealers_.end()) {
      look_at_accepted(link);
    } else if ((token & 1) == 0 || dealer->second.link->watch()) {
      make_ready(link);
    }
  }
}

void ZmqTransport::look_at_accepted(LinkId link) {
  if (link == kAccepted) {
    accepted_->accept();
  } else if (accepted_ != nullptr) {
    accepted_->notice(link);
  }
  make_ready(kAccepted);
}

void ZmqTransport::make_ready(LinkId link) {
  bool& ready = link == kAccepted ? accepted_ready_ : dealers_.at(link).ready;
  if (!std::exchange(ready, true)) ready_.push_back(link);
}

bool ZmqTransport::deliver(Sink& sink) {
  bool called = false;
  int left = kFramesPerPoll;
  while (left > 0 && !ready_.empty()) {
    const LinkId link = ready_.front();
    ready_.pop_front();
    const Turn turn = give_turn(sink, link, std::min(left, kFramesPerTurn));
    called = called || turn.called;
    left -= std::max(turn.frames, 1);
  }
  return called;
}

Turn ZmqTransport::give_turn(Sink& sink, LinkId link, int limit) {
  if (link == kAccepted) {
    accepted_ready_ = false;
    const Turn turn = accepted_->receive(sink, limit);
    if (turn.more) make_ready(kAccepted);
    return turn;
  }
  const auto found = dealers_.find(link);
  if (found == dealers_.end()) return {};  // Closed since.
  found->second.ready = false;
  DealerLink& dealer = *found->second.link;
  const Turn turn = dealer.receive(sink, limit);
  if (dealers_.count(link) == 0) return turn;  // Closed by a callback.
  if (dealer.over()) {
    bury(link);
  } else if (turn.more) {
    make_ready(link);
  }
  return turn;
}

Status check(const ZmqOptions& options) {
  const bool sizes =
      options.max_payload_bytes > 0 && options.max_payload_bytes <= wire::kMaxPayloadBytes;
  const bool counts = options.io_threads >= 1 && options.io_threads <= 64 &&
                      options.queue_frames >= 1 && options.queue_frames <= (1 << 20) &&
                      options.max_links >= 1 && options.max_links <= 16384;
  if (sizes && counts) return {};
  return {Code::kInvalidArgument,
          fmt::format("ZeroMQ options are out of range: max_payload_bytes {} (1 to {}), io_threads "
                      "{} (1 to 64), queue_frames {} (1 to 1048576), max_links {} (1 to 16384)",
                      options.max_payload_bytes, wire::kMaxPayloadBytes, options.io_threads,
                      options.queue_frames, options.max_links)};
}

}  // namespace
}  // namespace zmq

Result<std::unique_ptr<Transport>> make_zmq_transport(const ZmqOptions& options) {
  if (Status status = zmq::check(options); !status.ok()) return status;
  // A link that we connect has three sockets: itself and both ends of its monitor.
  const auto sockets = static_cast<int>(3 * (options.max_links + 2));
  Result<zmq::Context> context = zmq::open_context(options.io_threads, sockets);
  if (!context.ok()) return context.status();
  auto transport = std::make_unique<zmq::ZmqTransport>(options, *std::move(context));
  if (Status status = transport->open(); !status.ok()) return status;
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace stretto
