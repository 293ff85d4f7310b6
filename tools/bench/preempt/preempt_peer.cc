// SPDX-License-Identifier: Apache-2.0
// The background is pushes of one part each, another for each acknowledgement. The urgent message
// is a push too; its answer is a value of the same size. A push of kStartTensor starts a peer's own
// background.
#include "tools/bench/preempt/preempt_peer.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "common/memory.h"
#include "tools/bench/support/alarm.h"
#include "van/engine/van.h"
#include "van/event_loop/loop.h"
#include "van/transports.h"

namespace stretto::bench {
namespace {

constexpr std::uint32_t kBackground = 1;  // Tensors.
constexpr std::uint32_t kUrgentTensor = 2;
constexpr std::uint32_t kStartTensor = 3;
constexpr std::int32_t kUrgentPriority = 10;
constexpr NodeId kSender = 2;
constexpr NodeId kReceiver = 3;  // All receivers: the sender tells them apart by link.
constexpr std::uint64_t kUnbounded = std::uint64_t{1} << 40;
constexpr Duration kConnectPatience = 10s;

constexpr std::uint64_t kJob = 1;

Result<std::unique_ptr<Van>> make_van(const PreemptSettings& settings, Preemption mode, NodeId node,
                                      const std::string& host, const Clock& clock,
                                      HostPolicy policy) {
  keep_freed_memory();
  Config config;
  config.bind_host = host;
  config.transport = settings.transport;
  config.job.part_bytes =
      static_cast<std::uint32_t>(std::max(settings.part_bytes, settings.urgent_bytes));
  Result<std::unique_ptr<Transport>> transport = make_transport(config);
  if (!transport.ok()) return transport.status();
  const bool whole_frames = mode != Preemption::kPreempt;
  // All traffic of a lab host uses one interface.
  const VanOptions options{
      .whole_frames = whole_frames,
      .host = {.policy = policy, .job = kJob, .path = host::seats_path(host::kSharedMemory, 0)}};
  auto van = std::make_unique<Van>(*std::move(transport), clock, options);
  van->set_node(node);
  if (whole_frames) van->set_windows(kUnbounded, kUnbounded);
  return van;
}

wire::Header header_of(wire::Kind kind, std::uint32_t tensor, std::int32_t priority) {
  wire::Header header;
  header.kind = kind;
  header.dtype = static_cast<std::uint8_t>(Dtype::kU8);
  header.key = {tensor, 0};
  header.priority = priority;
  return header;
}

Buffer zeros(std::size_t bytes) { return Buffer::copy_of(std::vector<std::byte>(bytes)); }

/// Endless pushes, `background_bytes` in flight on each link. Thread: loop.
class BackgroundPushes {
 public:
  BackgroundPushes(const PreemptSettings& settings, Background kind)
      : part_bytes_(settings.part_bytes), bulk_(kind == Background::kBulk) {
    bytes_ = zeros(settings.background_bytes);
  }

  void start(Van& van, LinkId link) {
    for (std::size_t sent = 0; sent + part_bytes_ <= bytes_.size(); sent += part_bytes_) {
      push_part(van, link);
    }
  }
  /// Called at the start and for each acknowledged part.
  void push_part(Van& van, LinkId link) {
    if (next_ + part_bytes_ > bytes_.size()) next_ = 0;
    van.send(link, header_of(wire::Kind::kPush, kBackground, 0), bytes_.slice(next_, part_bytes_),
             {.bulk = bulk_});
    next_ += part_bytes_;
  }

 private:
  const std::size_t part_bytes_;
  const bool bulk_;
  Buffer bytes_;
  std::size_t next_ = 0;  // Offset of the next part.
};

/// Thread: loop.
class VanReceiver final : public Van::Handler {
 public:
  VanReceiver(const PreemptSettings& settings, const PreemptCase& way)
      : settings_(settings), way_(way), background_(settings, way.background) {}

  /// Returns the address.
  Result<std::string> listen(const std::string& host) {
    Result<std::unique_ptr<Van>> van =
        make_van(settings_, way_.mode, kReceiver, host, clock_, HostPolicy::kNone);
    if (!van.ok()) return van.status();
    van_ = *std::move(van);
    return van_->listen(fmt::format("{}:0", host));
  }

  /// Runs until the sender has gone.
  void run() {
    while (!over_) van_->step(*this, wait_until(van_->next_due(), clock_.now()));
  }

 private:
  void on_control(LinkId link, const control::Message& message) override {
    const auto* hello = std::get_if<control::Hello>(&message);
    if (hello == nullptr) return;
    van_->links().admit(link, hello->node);
    van_->send_control(link, control::Welcome{.node = hello->node});
  }
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override {
    van_->ack(link, header.push_sequence, false);
    if (header.key.tensor == kStartTensor) return background_.start(*van_, link);
    if (header.key.tensor != kUrgentTensor) return;
    van_->send(link, header_of(wire::Kind::kValue, kUrgentTensor, header.priority),
               std::move(payload));
  }
  void on_acked(LinkId link, wire::PushTag) override { background_.push_part(*van_, link); }
  void on_broken(LinkId, const Status&) override { over_ = true; }

  const PreemptSettings& settings_;
  const PreemptCase way_;
  BackgroundPushes background_;
  SteadyClock clock_;
  std::unique_ptr<Van> van_;
  bool over_ = false;
};

/// Thread: loop.
class VanLoadSender final : public LoadSender, private Van::Handler {
 public:
  VanLoadSender(const PreemptSettings& settings, const PreemptCase& way)
      : settings_(settings),
        way_(way),
        background_(settings, way.background),
        urgent_(zeros(settings.urgent_bytes)) {}

  Status connect(std::span<const std::string> addresses) {
    Result<std::unique_ptr<Van>> van =
        make_van(settings_, way_.mode, kSender, "127.0.0.1", clock_, way_.policy);
    if (!van.ok()) return van.status();
    van_ = *std::move(van);
    alarm_ = std::make_unique<Alarm>([this] { van_->waker()->wake(); });
    for (const std::string& address : addresses) {
      const Result<LinkId> link =
          van_->links().connect(address, {.protocol = wire::kProtocol, .node = kSender});
      if (!link.ok()) return link.status();
      links_.push_back(*link);
    }
    const Time deadline = clock_.now() + kConnectPatience;
    while (status_.ok() && welcomed_ < links_.size()) {
      if (clock_.now() > deadline) return {Code::kTimeout, "a receiver does not answer"};
      if (Status status = step(deadline); !status.ok()) return status;
    }
    return status_;
  }

  Status start_background() override {
    for (const LinkId link : links_) {
      if (settings_.direction == Direction::kOut) break;
      if (link == links_.front() && !settings_.urgent_peer_is_busy) continue;
      van_->send(link, header_of(wire::Kind::kPush, kStartTensor, 0), zeros(1));
    }
    for (const LinkId link : links_) {
      if (settings_.direction != Direction::kIn) background_.start(*van_, link);
    }
    return status_;
  }

  Status send_message(bool urgent) override {
    const bool ahead = urgent && way_.mode != Preemption::kFifo;
    const std::int32_t priority = ahead ? kUrgentPriority : 0;
    van_->send(links_.front(), header_of(wire::Kind::kPush, kUrgentTensor, priority), urgent_);
    return status_;
  }

  Status step(Time until) override {
    alarm_->set(until);
    van_->step(*this, wait_until(std::min(until, van_->next_due()), clock_.now()));
    return status_;
  }

 private:
  void on_control(LinkId link, const control::Message& message) override {
    if (!control::is<control::Welcome>(message)) return;
    van_->links().admit(link, kReceiver);
    ++welcomed_;
  }
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override {
    if (header.key.tensor == kUrgentTensor) {
      ++answered_;
      return;
    }
    van_->ack(link, header.push_sequence, false);
    delivered_bytes_ += payload.size();
  }
  void on_acked(LinkId link, wire::PushTag push) override {
    if (push.key.tensor != kBackground) return;
    delivered_bytes_ += settings_.part_bytes;
    background_.push_part(*van_, link);
  }
  void on_broken(LinkId, const Status& why) override { status_ = why; }

  const PreemptSettings& settings_;
  PreemptCase way_;
  BackgroundPushes background_;
  Buffer urgent_;
  SteadyClock clock_;
  std::unique_ptr<Van> van_;
  std::unique_ptr<Alarm> alarm_;  // Wakes the van at that moment; the van would wait longer.
  std::vector<LinkId> links_;
  std::size_t welcomed_ = 0;
  Status status_;
};

}  // namespace

Status receive_by_van(const PreemptSettings& settings, const PreemptCase& way,
                      const std::string& host,
                      const std::function<Status(const std::string& address)>& tell) {
  VanReceiver receiver(settings, way);
  const Result<std::string> address = receiver.listen(host);
  if (!address.ok()) return address.status();
  if (Status status = tell(*address); !status.ok()) return status;
  receiver.run();
  return {};  // If the sender ended too early, it reports why.
}

Result<std::unique_ptr<LoadSender>> connect_van(const PreemptSettings& settings,
                                                const PreemptCase& way,
                                                std::span<const std::string> addresses) {
  auto carrier = std::make_unique<VanLoadSender>(settings, way);
  if (Status status = carrier->connect(addresses); !status.ok()) return status;
  return std::unique_ptr<LoadSender>(std::move(carrier));
}

}  // namespace stretto::bench
