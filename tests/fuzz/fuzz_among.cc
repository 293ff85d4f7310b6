// SPDX-License-Identifier: Apache-2.0
// A real worker in virtual time that exchanges tensors and makes group calls with two workers
// controlled by the input. The scheduler and the shard are honest; in an elastic job they report
// losses. Every operation that the user began must end once and in time, and the user's memory must
// not be touched after that.
// Input: how honestly the workers connect, then actions (docs in tests/fuzz/make_corpus.py).
#include <fmt/format.h>

#include <algorithm>

#include "common/log.h"
#include "tests/fuzz/job.h"
#include "tests/fuzz/members.h"
#include "tests/fuzz/messages.h"
#include "van/control/handshake.h"
#include "van/wire/frame_views.h"
#include "worker/operations/call_plan.h"

namespace stretto::fuzz {
namespace {

constexpr int kMostActions = 200;
constexpr std::uint64_t kElements[] = {16, 40, 1, 600, 0};

enum Honest : unsigned {
  kAnswersGreeting = 1,
  kOpens = 2,
  kCalls = 4,
  kDecides = 8,
  kFixed = 16,
  kOneLink = 32
};

/// Thread: the simulation's.
class HostileWorkers {
 public:
  explicit HostileWorkers(Input& input);
  void run();

 private:
  /// One of the other workers.
  struct Other {
    NodeId node = 0;
    std::unique_ptr<Peer> peer;
  };

  std::unique_ptr<Peer> honest_peer(const char* name, NodeId node, const std::string& address);
  void add_other(NodeId node);
  void on_honest(Peer& peer, Peer::Line& line, NodeId node, const control::Message& message);
  void on_other(Other& other, Peer::Line& line, const control::Message& message);
  void call(Other& other, bool honest);
  Peer::Line* line_from_input();

  void act();
  void user_declares();
  void user_begins();
  void user_makes_group();
  void user_calls();
  void send_frame();
  void send_group_frame();
  void answer_frame();
  void send_word();
  void lose_somebody();
  void break_something();
  void check_all_ended();

  Input& input_;
  const unsigned honest_;
  Roster roster_;
  Job job_;
  std::unique_ptr<Peer> scheduler_;
  std::unique_ptr<Peer> shard_;
  std::vector<std::unique_ptr<Other>> others_;
  Peer* chosen_ = nullptr;  // The owner of line_from_input().
  WorkerNode* worker_;
  int begun_ = 0;  // Calls with a callback,
  int ended_ = 0;  // and callbacks.
  /// A group that the user has made.
  struct MadeGroup {
    Tensor tensor;
    std::uint32_t members = 1;
    std::uint32_t self = 0;
  };
  std::vector<MadeGroup> groups_;
  std::vector<Tensor> tensors_;
  std::vector<TensorSpec> specs_;  // By number, from 1.
  std::vector<std::shared_ptr<Outcome>> outcomes_;
};

HostileWorkers::HostileWorkers(Input& input)
    : input_(input),
      honest_(~unsigned{input.byte()}),
      roster_(roster_of_three((honest_ & kFixed) == 0)) {
  if ((honest_ & kOneLink) == 0) roster_.settings.worker_links = 2;
  scheduler_ = honest_peer("scheduler", kSchedulerNode, kSchedulerAddress);
  shard_ = honest_peer("shard", kShardNode, "shard:1");
  for (const NodeId node : {kFirstNode, kOurNode + 1}) add_other(node);
  worker_ = &job_.add_worker(config_for(Role::kWorker, kWorkers, 1), "worker", kOurAddress);
}

std::unique_ptr<Peer> HostileWorkers::honest_peer(const char* name, NodeId node,
                                                  const std::string& address) {
  auto made = std::make_unique<Peer>(job_.network(), job_.clock(), name);
  job_.add_peer(*made);
  made->listen(address);
  made->on_control([this, peer = made.get(), node](Peer::Line& line, const auto& message) {
    on_honest(*peer, line, node, message);
  });
  return made;
}

void HostileWorkers::add_other(NodeId node) {
  const Rank rank = node - kFirstNode;
  others_.push_back(std::make_unique<Other>());
  Other& other = *others_.back();
  other.node = node;
  other.peer = std::make_unique<Peer>(job_.network(), job_.clock(), fmt::format("other-{}", rank));
  job_.add_peer(*other.peer);
  other.peer->listen(fmt::format("other-{}:1", rank));
  other.peer->on_control(
      [this, &other](Peer::Line& line, const auto& message) { on_other(other, line, message); });
}

void HostileWorkers::on_honest(Peer& peer, Peer::Line& line, NodeId node,
                               const control::Message& message) {
  if (control::is<control::Hello>(message)) {
    peer.send_control(line, control::Welcome{.node = kOurNode, .rank = kOurNode - kFirstNode});
    line.sender = node;
    if (node == kSchedulerNode) peer.send_control(line, roster_);
  } else if (const auto* declare = std::get_if<control::Declare>(&message)) {
    specs_.push_back(declare->spec);
    peer.send_control(
        line, control::Declared{.tensor = static_cast<std::uint32_t>(specs_.size()),
                                .name = declare->spec.name,
                                .owners = {{.first = 0, .count = kSlots, .owner = kShardNode}}});
  } else if (control::is<control::Heartbeat>(message)) {
    peer.send_control(line, message);
  }
}

void HostileWorkers::on_other(Other& other, Peer::Line& line, const control::Message& message) {
  if (control::is<control::Hello>(message) && (honest_ & kAnswersGreeting) != 0) {
    other.peer->send_control(line, control::Welcome{.node = kOurNode});
    line.sender = other.node;
  }
  const auto* said = std::get_if<control::Regroup>(&message);
  if (said != nullptr && !said->decided && (honest_ & kDecides) != 0) {
    control::Regroup decided = *said;
    decided.decided = true;
    ++decided.generation;
    if (input_.rarely(4)) decided.finished.clear();
    other.peer->send_control(line, decided);
  }
  const auto* open = std::get_if<control::Open>(&message);
  if (open == nullptr) return;
  if ((honest_ & kOpens) != 0) other.peer->send_control(line, *open);
}

// With the job's token and the worker's own identity, unless the input says otherwise.
void HostileWorkers::call(Other& other, bool honest) {
  control::Hello hello = introduction(Role::kWorker, "secret");
  hello.node = other.node;
  hello.rank = other.node - kFirstNode;
  hello.shards = roster_.settings.worker_links;
  if (!honest && input_.flag()) hello.node = input_.small();
  if (!honest && input_.rarely(4)) hello.token = input_.text();
  if (!honest && input_.rarely(4)) hello.shards = input_.small();
  for (hello.shard = 0; hello.shard < roster_.settings.worker_links; ++hello.shard) {
    if (!honest && input_.rarely(4)) continue;
    other.peer->send_control(other.peer->connect(kOurAddress), hello);
  }
}

void HostileWorkers::run() {
  ++begun_;
  worker_->join([this](const Status&) { ++ended_; }, kOurAddress);
  job_.run_for(5ms);
  if ((honest_ & kCalls) != 0) call(*others_.back(), true);
  for (int i = 0; i < kMostActions && !input_.empty(); ++i) act();
  check_all_ended();
}

void HostileWorkers::act() {
  switch (input_.below(24)) {
    case 16:
      user_makes_group();
      break;
    case 17:
    case 18:
    case 19:
      user_calls();
      break;
    case 20:
    case 21:
    case 22:
    case 23:
      send_group_frame();
      break;
    case 0:
    case 1:
      user_declares();
      break;
    case 2:
    case 3:
    case 4:
      user_begins();
      break;
    case 5:
    case 6:
    case 7:
      send_frame();
      break;
    case 8:
    case 9:
    case 10:
    case 11:
      answer_frame();
      break;
    case 12:
      if (input_.rarely(4)) lose_somebody();
      send_word();
      break;
    case 13:
      call(*others_[input_.below(others_.size())], false);
      break;
    case 14:
      break_something();
      break;
    default:
      if (input_.rarely(8) && worker_->joined()) {
        ++begun_;
        worker_->leave([this](const Status&) { ++ended_; });
      }
  }
  job_.run_for(Duration(1us) * static_cast<std::int64_t>(input_.byte()) * 4);
}

void HostileWorkers::user_declares() {
  constexpr Rule kRules[] = {Rule::kSum, Rule::kMean, Rule::kMax};
  constexpr CloseOptions kCloses[] = {
      {.quorum = 2}, {.quorum = 1, .late = Late::kOwn}, {.backups = kWorkers - 1}};
  TensorSpec spec{.name = fmt::format("t{}", input_.below(4)),
                  .dtype = Dtype::kF32,
                  .elements = kElements[input_.below(std::size(kElements))],
                  .options = {.update = {.rule = kRules[input_.below(std::size(kRules))]},
                              .deterministic = input_.flag()}};
  const std::size_t way = input_.below(5 + std::size(kCloses));
  spec.options.exchange = way < 5 ? static_cast<Exchange>(way) : Exchange::kDirect;
  if (way >= 5) spec.options.close = kCloses[way - 5];
  if (!worker_->joined()) return;
  ++begun_;
  worker_->work().declare(spec, [this](const Result<Tensor>& tensor) {
    ++ended_;
    if (tensor.ok()) tensors_.push_back(*tensor);
  });
}

void HostileWorkers::user_begins() {
  if (tensors_.empty()) return;
  const Tensor tensor = tensors_[tensors_.size() - 1 - input_.below(tensors_.size())];
  constexpr Operation::Kind kKinds[] = {Operation::Kind::kPushPull, Operation::Kind::kPushPull,
                                        Operation::Kind::kPush, Operation::Kind::kBroadcastRoot,
                                        Operation::Kind::kBroadcastReceiver};
  outcomes_.push_back(begin(*worker_, kKinds[input_.below(std::size(kKinds))], tensor, 1));
}

// Of all three workers, of two, or of this one alone. As in Group::of, call 1 is a barrier.
void HostileWorkers::user_makes_group() {
  constexpr Rank kOurs = kOurNode - kFirstNode;
  const std::vector<std::vector<Rank>> kinds = {{0, 1, 2}, {0, 1}, {1, 2}, {1}};
  const std::vector<Rank> ranks = kinds[input_.below(kinds.size())];
  const TensorSpec spec{.name = fmt::format("group {} of {}", input_.below(2), ranks.size()),
                        .dtype = Dtype::kU8,
                        .elements = 0,
                        .options = {.deterministic = input_.flag(),
                                    .exchange = static_cast<Exchange>(1 + input_.below(5))}};
  if (!worker_->joined()) return;
  ++begun_;
  worker_->work().declare(
      spec,
      [this, ranks](const Result<Tensor>& tensor) {
        ++ended_;
        if (!tensor.ok()) return;
        const auto self = std::ranges::find(ranks, Rank{kOurs}) - ranks.begin();
        groups_.push_back({.tensor = *tensor,
                           .members = static_cast<std::uint32_t>(ranks.size()),
                           .self = static_cast<std::uint32_t>(self)});
        outcomes_.push_back(begin_call(*worker_, *tensor, {}, 0, 0));
      },
      ranks);
}

// Memory is mostly of the right size.
void HostileWorkers::user_calls() {
  if (groups_.empty()) return;
  const MadeGroup& group = groups_[groups_.size() - 1 - input_.below(groups_.size())];
  GroupCallArgs call{.call = group_call_from(input_)};
  const GroupCall& what = call.call;
  const std::uint64_t one = what.bytes();
  const std::uint64_t all = one * group.members;
  const bool at_root = what.root == group.self;
  std::uint64_t source = one;
  std::uint64_t target = one;
  switch (what.kind) {
    case CallKind::kBarrier:
      source = target = 0;
      break;
    case CallKind::kReduce:
      target = at_root ? one : 0;
      break;
    case CallKind::kBroadcast:
      source = at_root ? one : 0;
      break;
    case CallKind::kAllGather:
      target = all;
      break;
    case CallKind::kGather:
      target = at_root ? all : 0;
      break;
    case CallKind::kScatter:
      source = at_root ? all : 0;
      break;
    case CallKind::kReduceScatter:
      source = all;
      break;
    case CallKind::kAllToAll:
      source = target = all;
      break;
    case CallKind::kSend:
      call.peer = at_root ? static_cast<std::uint32_t>(input_.below(4)) : group.self;
      call.tag = input_.below(2);
      (at_root ? target : source) = 0;
      break;
    default:
      break;
  }
  if (input_.rarely(16)) source += 4;
  outcomes_.push_back(begin_call(*worker_, group.tensor, std::move(call), source, target));
}

Peer::Line* HostileWorkers::line_from_input() {
  chosen_ = others_[input_.below(others_.size())]->peer.get();
  return chosen_->line_from(input_);
}

// An unrequested sum for a parent or value for a child, mostly of an existing part.
void HostileWorkers::send_frame() {
  Peer::Line* line = line_from_input();
  if (line == nullptr) return;
  wire::Header header;
  header.kind = input_.flag() ? wire::Kind::kUp : wire::Kind::kDown;
  header.key = {1 + static_cast<std::uint32_t>(input_.below(4)), input_.small()};
  header.version = 1 + input_.number();
  header.dtype = static_cast<std::uint8_t>(input_.rarely(8) ? input_.byte() : 1);
  if (input_.rarely(4)) header.flags = static_cast<std::uint16_t>(input_.below(1024));
  header.base = input_.number();
  if (input_.flag()) header.base |= input_.number() << 32U;
  constexpr std::size_t kSizes[] = {64, 32, 4, 0, 60, 68, 96};
  const std::size_t size = (header.flags & wire::kAbsent) != 0 && input_.flag()
                               ? 0
                               : kSizes[input_.below(std::size(kSizes))];
  chosen_->send_bent(*line, header, input_.payload(size), input_);
}

// A frame of a call that the user has begun or may begin later.
void HostileWorkers::send_group_frame() {
  Peer::Line* line = line_from_input();
  if (line == nullptr) return;
  const GroupCall call = group_call_from(input_);
  wire::GroupFrame frame{.up = input_.flag(),
                         .key = {1 + static_cast<std::uint32_t>(input_.below(4)), 0},
                         .number = 1 + input_.number(),
                         .call = call.packed(),
                         .tag = input_.rarely(4) ? input_.number() : 0,
                         .absent = input_.flag(),
                         .dtype = call.dtype};
  frame.key.part =
      wire::GroupFrame::key_part(static_cast<std::uint32_t>(input_.below(4)), input_.small());
  if (input_.rarely(8)) frame.key.part = wire::GroupFrame::key_part(kMostGroupPlaces, 0);
  std::size_t size = frame.absent ? 0 : std::min<std::size_t>(call.bytes(), kPartBytes);
  if (input_.rarely(8)) size = 4 * input_.below(32);
  chosen_->send_bent(*line, frame.header(), input_.payload(size), input_);
}

// Answers the latest frame: a sum with its round's value, a value with the next round's sum, or
// nearly so.
void HostileWorkers::answer_frame() {
  Peer::Line* line = line_from_input();
  if (line == nullptr || line->asked.empty()) return;
  const wire::Header asked = line->asked.back();
  line->asked.pop_back();
  wire::Header header;
  header.key = asked.key;
  header.dtype = asked.dtype;
  header.kind = asked.kind == wire::Kind::kUp ? wire::Kind::kDown : wire::Kind::kUp;
  header.version = asked.version + (header.kind == wire::Kind::kUp ? 1 : 0);
  header.base = asked.base;
  if (header.kind == wire::Kind::kUp) header.flags = asked.flags & wire::kAssign;
  header.flags |= asked.flags & wire::kOfGroup;
  header.own_applied = asked.own_applied;  // A send's tag.
  if (input_.rarely(8)) header.version += input_.small();
  if (input_.rarely(8)) header.key.part += input_.small();
  std::size_t size = asked.bytes;
  if (wire::GroupFrame::is_one(asked) && size == 0) {  // It requests bytes.
    const auto dtype = static_cast<Dtype>(asked.dtype);
    size = std::min<std::size_t>(GroupCall::unpack(asked.base, dtype).bytes(), kPartBytes);
  }
  if (input_.rarely(8)) size = 4 * input_.below(32);
  chosen_->send_bent(*line, header, input_.payload(size), input_);
}

// Open, Fault and Leave, valid or invalid, or any other control message.
void HostileWorkers::send_word() {
  Peer::Line* line = line_from_input();
  if (line == nullptr) return;
  const std::uint32_t tensor = input_.small();
  switch (input_.below(6)) {
    case 4:
    case 5:
      chosen_->send_control(*line, choice_from(input_, roster_, specs_.size()));
      break;
    case 0: {
      const bool known = tensor >= 1 && tensor <= specs_.size();
      control::Open open{.tensor = tensor};
      open.spec = known ? specs_[tensor - 1] : TensorSpec{.name = "t", .elements = 16};
      chosen_->send_control(*line, open);
      break;
    }
    case 1:
      chosen_->send_control(*line,
                            control::Fault{.why = {Code::kPeerLost, "worker 7 has left the job"},
                                           .tensor = tensor,
                                           .round = input_.number()});
      break;
    case 2:
      chosen_->send_control(*line, control::Leave{});
      break;
    default:
      chosen_->send_bent(*line, wire::Header(), bytes_of(control_from(input_)), input_);
  }
}

// In an elastic job: the scheduler reports the loss.
void HostileWorkers::lose_somebody() {
  if ((honest_ & kFixed) != 0 || scheduler_->lines().empty()) return;
  const auto which = static_cast<std::uint32_t>(input_.below(kWorkers));
  if (!lose_in(roster_, which, input_.flag())) return;
  scheduler_->send_control(*scheduler_->lines().front(), roster_);
}

void HostileWorkers::break_something() {
  constexpr Duration kSteps[] = {1ms, 20ms, 500ms, 3s};
  Peer::Line* line = line_from_input();
  switch (input_.below(6)) {
    case 0:
      if (line != nullptr) chosen_->close(*line);
      break;
    case 1:
      job_.network().cut("worker", chosen_->name());
      break;
    case 2:
      job_.network().lose_next(chosen_->name(), "worker");
      break;
    default:
      job_.run_for(kSteps[input_.below(std::size(kSteps))]);
      break;
  }
}

void HostileWorkers::check_all_ended() {
  job_.run_until(2 * kOperationTimeout + 60s, [this] {
    return ended_ >= begun_ && std::all_of(outcomes_.begin(), outcomes_.end(),
                                           [](const auto& o) { return o->ends > 0; });
  });
  job_.run_for(10ms);
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
  stretto::fuzz::HostileWorkers(input).run();
  return 0;
}
