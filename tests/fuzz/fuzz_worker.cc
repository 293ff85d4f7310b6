// SPDX-License-Identifier: Apache-2.0
// A real worker in virtual time, whose scheduler and two shards are controlled by the input. Every
// operation that the user began must end once and in time. The user's memory must not be touched
// after that: it is freed at once, and the address sanitizer watches.
// Input: how honestly the worker is received, then actions (docs in tests/fuzz/make_corpus.py).
#include <fmt/format.h>

#include <algorithm>

#include "common/log.h"
#include "tests/fuzz/job.h"
#include "tests/fuzz/messages.h"

namespace stretto::fuzz {
namespace {

constexpr int kMostActions = 200;
constexpr NodeId kShardNode = 2;  // And the next one.
constexpr NodeId kWorkerNode = 4;

Roster roster_message(std::uint32_t epoch) {
  Roster roster{.epoch = epoch,
                .fence = 1,
                .workers = 2,
                .servers = 2,
                .slots = kSlots,
                .members = {},
                .settings = job_settings()};
  for (Rank rank = 0; rank < 2; ++rank) {
    roster.members.push_back({.node = kShardNode + rank,
                              .role = Role::kServer,
                              .rank = rank,
                              .address = fmt::format("shard-{}:1", rank)});
    roster.members.push_back({.node = kWorkerNode + rank, .role = Role::kWorker, .rank = rank});
  }
  return roster;
}

/// Thread: the simulation's.
class HostileJob {
 public:
  explicit HostileJob(Input& input);
  void run();

 private:
  void receive(Peer::Line& line, const control::Message& message, Peer& peer);
  void welcome(Peer& peer, Peer::Line& line);
  void answer_declare(Peer::Line& line, const TensorSpec& spec);
  Peer& peer_from_input() { return *peers_[input_.below(peers_.size())]; }

  void act();
  void user_declares();
  void user_begins();
  void user_makes_group();
  void user_calls();
  void send_message();
  void answer_something();
  void send_anything();
  void break_something();
  void wait_for_ends();
  void check_all_ended();

  Input& input_;
  unsigned honest_;  // Steps that stay valid: a bit for each in receive().
  Job job_;
  std::vector<std::unique_ptr<Peer>> peers_;  // The scheduler, then the shards.
  WorkerNode* worker_;
  int begun_ = 0;  // Calls with a callback,
  int ended_ = 0;  // and callbacks.
  std::vector<Tensor> tensors_;
  std::vector<Tensor> groups_;
  std::vector<std::shared_ptr<Outcome>> outcomes_;
  std::uint32_t next_tensor_ = 1;
};

enum Honest : unsigned { kWelcomes = 1, kRosters = 2, kDeclares = 4 };

HostileJob::HostileJob(Input& input) : input_(input), honest_(~unsigned{input.byte()}) {
  for (const char* name : {"scheduler", "shard-0", "shard-1"}) {
    peers_.push_back(std::make_unique<Peer>(job_.network(), job_.clock(), name));
    Peer* peer = peers_.back().get();
    job_.add_peer(*peer);
    peer->listen(fmt::format("{}:{}", name, peers_.size() == 1 ? 9000 : 1));
    peer->on_control([this, peer](Peer::Line& line, const control::Message& message) {
      receive(line, message, *peer);
    });
  }
  worker_ = &job_.add_worker(config_for(Role::kWorker, 2, 2), "worker");
}

void HostileJob::receive(Peer::Line& line, const control::Message& message, Peer& peer) {
  if (control::is<control::Hello>(message) && (honest_ & kWelcomes) != 0) welcome(peer, line);
  const auto* declare = std::get_if<control::Declare>(&message);
  if (declare != nullptr && (honest_ & kDeclares) != 0) answer_declare(line, declare->spec);
  if (control::is<control::Heartbeat>(message)) peer.send_control(line, message);
}

void HostileJob::welcome(Peer& peer, Peer::Line& line) {
  peer.send_control(line, control::Welcome{.node = kWorkerNode});
  const auto index = static_cast<NodeId>(
      std::find_if(peers_.begin(), peers_.end(), [&](const auto& p) { return p.get() == &peer; }) -
      peers_.begin());
  line.sender = index == 0 ? kSchedulerNode : kShardNode + index - 1;
  if (index == 0 && (honest_ & kRosters) != 0) peer.send_control(line, roster_message(1));
}

void HostileJob::answer_declare(Peer::Line& line, const TensorSpec& spec) {
  control::Declared declared{.tensor = next_tensor_++, .name = spec.name};
  for (std::uint32_t half = 0; half < 2; ++half) {  // Even parts here, odd parts there.
    for (std::uint32_t slot = half; slot < 64; slot += 2) {
      declared.owners.push_back({.first = slot, .count = 1, .owner = kShardNode + half});
    }
  }
  peers_[0]->send_control(line, declared);
}

void HostileJob::run() {
  ++begun_;
  worker_->join([this](const Status&) { ++ended_; });
  job_.run_for(5ms);
  for (int i = 0; i < kMostActions && !input_.empty(); ++i) act();
  check_all_ended();
}

void HostileJob::act() {
  switch (input_.below(14)) {
    case 12:
      user_makes_group();
      break;
    case 13:
      user_calls();
      break;
    case 0:
      user_declares();
      break;
    case 1:
    case 2:
      user_begins();
      break;
    case 3:
    case 4:
      send_message();
      break;
    case 5:
    case 6:
    case 7:
      answer_something();
      break;
    case 8:
      send_anything();
      break;
    case 9:
      break_something();
      break;
    case 10:
      if (worker_->joined()) {
        ++begun_;
        worker_->work().barrier([this](const Status&) { ++ended_; });
      }
      break;
    case 11:
      if (input_.rarely(8) && worker_->joined()) {
        ++begun_;
        worker_->leave([this](const Status&) { ++ended_; });
      }
      break;
    default:
      break;
  }
  job_.run_for(Duration(1us) * static_cast<std::int64_t>(input_.byte()) * 4);
}

void HostileJob::user_declares() {
  constexpr std::uint64_t kElements[] = {16, 40, 1, 17, 600, 0};
  constexpr Mode kModes[] = {Mode::kSync, Mode::kAsync, Mode::kEagerAsync};
  const TensorSpec spec{.name = fmt::format("t{}", input_.below(4)),
                        .dtype = Dtype::kF32,
                        .elements = kElements[input_.below(std::size(kElements))],
                        .options = {.mode = kModes[input_.below(3)]}};
  if (!worker_->joined()) return;
  ++begun_;
  worker_->work().declare(spec, [this](const Result<Tensor>& tensor) {
    ++ended_;
    if (tensor.ok()) tensors_.push_back(*tensor);
  });
}

void HostileJob::user_begins() {
  if (tensors_.empty()) return;
  const Tensor tensor = tensors_[input_.below(tensors_.size())];
  const auto kind = static_cast<Operation::Kind>(input_.below(5));
  outcomes_.push_back(begin(*worker_, kind, tensor, 1));
}

// Of this worker alone, or of both; the second is reachable only if a roster says so.
void HostileJob::user_makes_group() {
  const std::vector<Rank> ranks = input_.flag() ? std::vector<Rank>{0, 1} : std::vector<Rank>{0};
  const TensorSpec spec{.name = fmt::format("group of {}", ranks.size()),
                        .dtype = Dtype::kU8,
                        .elements = 0,
                        .options = {.exchange = static_cast<Exchange>(1 + input_.below(4))}};
  if (!worker_->joined()) return;
  ++begun_;
  worker_->work().declare(
      spec,
      [this](const Result<Tensor>& tensor) {
        ++ended_;
        if (tensor.ok()) groups_.push_back(*tensor);
      },
      ranks);
}

void HostileJob::user_calls() {
  if (groups_.empty()) return;
  const Tensor group = groups_[input_.below(groups_.size())];
  const std::uint64_t bytes = 16 * input_.below(4);
  GroupCallArgs call{
      .call = {.kind = static_cast<CallKind>(1 + input_.below(9)), .elements = bytes}};
  const bool none = call.call.kind == CallKind::kBarrier;
  outcomes_.push_back(
      begin_call(*worker_, group, std::move(call), none ? 0 : bytes, none ? 0 : bytes));
}

void HostileJob::send_message() {
  Peer& peer = peer_from_input();
  Peer::Line* line = peer.line_from(input_);
  if (line == nullptr) return;
  if (input_.flag()) {
    peer.send_bent(*line, wire::Header(), bytes_of(control_from(input_)), input_);
    return;
  }
  // Valid except for two fields.
  wire::Control message = to_bend(roster_message(input_.small()));
  wire::Roster& roster = *message.mutable_roster();
  if (input_.flag()) roster.set_workers(input_.small());
  if (input_.flag()) roster.mutable_members(static_cast<int>(input_.below(4)))->set_left(true);
  if (input_.flag()) roster.mutable_settings()->set_part_bytes(64 * input_.small());
  if (input_.flag()) roster.mutable_members()->DeleteSubrange(0, static_cast<int>(input_.below(5)));
  peer.send_bent(*line, wire::Header(), bytes_of(message), input_);
}

// Answers the latest push or pull with its value, or nearly so.
void HostileJob::answer_something() {
  Peer& peer = peer_from_input();
  Peer::Line* line = peer.line_from(input_);
  if (line == nullptr || line->asked.empty()) return;
  const wire::Header asked = line->asked.back();
  line->asked.pop_back();
  constexpr std::size_t kSizes[] = {64, 32, 4, 0, 68, 60};
  wire::Header header;
  header.kind = input_.rarely(4) ? wire::Kind::kDone : wire::Kind::kValue;
  header.key = asked.key;
  header.flags = static_cast<std::uint16_t>(asked.flags & (wire::kWantsValue | wire::kProbe));
  if (input_.rarely(8)) header.key = {input_.small(), input_.small()};
  header.dtype = static_cast<std::uint8_t>(input_.rarely(8) ? input_.byte() : 1);
  header.version = input_.rarely(4) ? input_.take<std::uint64_t>() : asked.version;
  header.base = input_.number();
  header.own_applied = input_.number();
  std::size_t size = asked.bytes != 0 && input_.flag() ? asked.bytes : kSizes[input_.below(6)];
  if (header.kind == wire::Kind::kDone) size = 0;
  peer.send_bent(*line, header, input_.payload(size), input_);
}

void HostileJob::send_anything() {
  Peer& peer = peer_from_input();
  Peer::Line* line = peer.line_from(input_);
  if (line == nullptr) return;
  wire::Header header;
  header.kind = static_cast<wire::Kind>(input_.byte());
  header.flags = static_cast<std::uint16_t>(input_.below(64));
  // Frames of group calls, which neither servers nor the scheduler send.
  if (input_.flag()) header.flags |= wire::kOfGroup;
  header.dtype = 1;
  header.key = {input_.small(), input_.small()};
  peer.send_bent(*line, header, input_.payload(input_.flag() ? 0 : input_.byte()), input_);
}

void HostileJob::break_something() {
  constexpr Duration kSteps[] = {1ms, 20ms, 500ms, 3s};
  Peer& peer = peer_from_input();
  Peer::Line* line = peer.line_from(input_);
  switch (input_.below(6)) {
    case 0:
      if (line != nullptr) peer.close(*line);
      break;
    case 1:
      job_.network().cut("worker", peer.name());
      break;
    case 2:
      job_.network().lose_next(peer.name(), "worker");
      break;
    default:
      job_.run_for(kSteps[input_.below(std::size(kSteps))]);
      break;
  }
}

void HostileJob::wait_for_ends() {
  job_.run_until(2 * kOperationTimeout + 60s, [this] {
    return ended_ >= begun_ && std::all_of(outcomes_.begin(), outcomes_.end(),
                                           [](const auto& o) { return o->ends > 0; });
  });
  job_.run_for(10ms);
}

// An admitted worker waits for a roster as long as its scheduler lives.
void HostileJob::check_all_ended() {
  wait_for_ends();
  if (!worker_->joined() && ended_ < begun_) {
    for (const auto& line : peers_[0]->lines()) peers_[0]->close(*line);
    wait_for_ends();
  }
  require(ended_ == begun_, "every call's callback is called once, in time");
  for (const auto& outcome : outcomes_) {
    require(outcome->ends == 1, "every operation ends once, in time");
  }
}

}  // namespace
}  // namespace stretto::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  stretto::set_log_level(stretto::Level::kSilent);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::fuzz::Input input(data, size);
  stretto::fuzz::HostileJob(input).run();
  return 0;
}
