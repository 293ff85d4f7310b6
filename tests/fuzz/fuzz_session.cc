// SPDX-License-Identifier: Apache-2.0
// A session with a real scheduler and shard in virtual time, whose peer is controlled by the input.
// A pending connection must do no harm: the honest worker's operations stay right. An admitted peer
// can fail the job, but not crash it, hang it, or fill its memory.
// Input: how the peer begins, then its actions (docs in tests/fuzz/make_corpus.py).
#include <algorithm>

#include "common/log.h"
#include "tests/fuzz/job.h"
#include "tests/fuzz/messages.h"

namespace stretto::fuzz {
namespace {

constexpr std::uint64_t kElements = 40;  // Parts of 16, 16 and 8.
constexpr int kMostActions = 200;
constexpr Duration kGathering = 20s;  // Until then the scheduler waits for more members.

enum class Scene { kStranger, kMember, kEarly };

/// Thread: the simulation's.
class Session {
 public:
  Session(Input& input, Scene scene);
  void run();

 private:
  void start_honest();
  void let_peer_in();
  void act();
  void note_hello(const wire::Control& message);
  void send_hello();
  void send_data(bool any_kind);
  void send_raw();
  void repeat_message();
  void let_time_pass();
  void honest_operation();
  void check_all_ended();
  bool peer_was_in() const { return scene_ == Scene::kMember || let_in_; }

  Input& input_;
  Scene scene_;
  std::uint32_t workers_;
  Job job_;
  Time began_;
  Peer peer_;
  WorkerNode* worker_ = nullptr;
  std::optional<Status> joined_;
  std::optional<Result<Tensor>> tensor_;
  std::vector<std::shared_ptr<Outcome>> outcomes_;
  bool let_in_ = false;  // The peer may have been admitted by its own message.
};

Session::Session(Input& input, Scene scene)
    : input_(input),
      scene_(scene),
      workers_(scene == Scene::kMember ? 2 : 1),
      began_(job_.clock().now()),
      peer_(job_.network(), job_.clock(), "peer") {
  job_.add_scheduler(config_for(Role::kScheduler, workers_, 1));
  job_.add_shard(config_for(Role::kServer, workers_, 1));
  job_.add_peer(peer_);
  peer_.on_control([this](Peer::Line&, const control::Message& message) {
    if (!control::is<control::Welcome>(message)) return;
    require(scene_ != Scene::kStranger, "nobody is let in when all are here");
    let_in_ = true;
  });
  job_.run_for(5ms);  // The shard has its rank before the peer can request it.
}

void Session::start_honest() {
  worker_ = &job_.add_worker(config_for(Role::kWorker, workers_, 1), "worker");
  worker_->join([this](const Status& status) { joined_ = status; });
  if (scene_ == Scene::kMember) let_peer_in();
  job_.run_until(60s, [this] { return joined_.has_value(); });
  require(joined_.has_value(), "a join ends");
  require(joined_->ok() || peer_was_in(), "an honest worker can join");
  if (!joined_->ok()) return;
  const TensorSpec spec{
      .name = "honest", .dtype = Dtype::kF32, .elements = kElements, .options = {}};
  worker_->work().declare(spec, [this](const Result<Tensor>& tensor) { tensor_ = tensor; });
  job_.run_until(2 * kOperationTimeout, [this] { return tensor_.has_value(); });
  require(tensor_.has_value(), "a declare ends");
  require(tensor_->ok() || peer_was_in(), "an honest worker can declare");
}

// The peer makes a worker's valid handshakes with scheduler and shard, and opens a tensor.
void Session::let_peer_in() {
  control::Hello hello{.protocol = wire::kProtocol,
                       .token = "secret",
                       .role = Role::kWorker,
                       .rank = -1,
                       .workers = workers_,
                       .servers = 1};
  Peer::Line& scheduler = peer_.connect(kSchedulerAddress);
  peer_.send_control(scheduler, hello);
  job_.run_until(5s, [&] { return scheduler.in_roster; });
  require(scheduler.in_roster, "a worker that greets rightly is let in");
  hello.node = scheduler.sender;
  Peer::Line& shard = peer_.connect("shard:9001");
  peer_.send_control(shard, hello);
  job_.run_until(5s, [&] { return shard.welcomed; });
  wire::Control open;
  open.mutable_open()->set_tensor(7);
  *open.mutable_open()->mutable_spec() = spec_from(input_);
  if (input_.rarely(4))
    open.mutable_open()->set_first_slot(input_.take<std::uint16_t>() % (kSlots + 1));
  peer_.send_control(shard, open);
}

void Session::run() {
  if (scene_ != Scene::kEarly) start_honest();
  for (int i = 0; i < kMostActions && !input_.empty(); ++i) act();
  if (scene_ == Scene::kEarly) {
    peer_.set_deaf(false);
    job_.run_for(1s);  // A welcome may be in transit.
    for (auto& line : peer_.lines()) peer_.close(*line);
    job_.run_for(1s);
    if (job_.clock().now() - began_ < kGathering) start_honest();
  }
  honest_operation();
  check_all_ended();
}

void Session::act() {
  switch (input_.below(12)) {
    case 0:
      peer_.connect(input_.flag() ? kSchedulerAddress : "shard:9001");
      break;
    case 1:
      send_hello();
      break;
    case 2:
    case 3:
      if (Peer::Line* line = peer_.line_from(input_)) {
        const wire::Control message = control_from(input_);
        note_hello(message);
        peer_.send_bent(*line, wire::Header(), bytes_of(message), input_);
      }
      break;
    case 4:
    case 5:
      send_data(false);
      break;
    case 6:
      send_data(true);
      break;
    case 7:
      send_raw();
      break;
    case 8:
      repeat_message();
      break;
    case 9:
      if (Peer::Line* line = peer_.line_from(input_)) peer_.close(*line);
      break;
    case 10:
      if (input_.rarely(4)) peer_.set_deaf(input_.flag());
      let_time_pass();
      break;
    case 11:
      honest_operation();
      break;
    default:
      break;
  }
  job_.run_for(Duration(1us) * static_cast<std::int64_t>(input_.byte()) * 4);
}

// An early peer may be admitted and leave before it knows: the job may have started with it.
void Session::note_hello(const wire::Control& message) {
  if (scene_ == Scene::kEarly && message.has_hello()) let_in_ = true;
}

// Mostly the right identity: a wrong one is refused at once, which is soon explored.
void Session::send_hello() {
  wire::Control message;
  wire::Hello& hello = *message.mutable_hello();
  hello.set_protocol(wire::kProtocol);
  hello.set_token("secret");
  hello.set_role(2 + (input_.byte() & 1));
  hello.set_rank(static_cast<std::int64_t>(input_.below(4)) - 1);
  hello.set_workers(workers_);
  hello.set_servers(1);
  hello.set_shards(1);
  hello.set_shard(input_.rarely(4) ? input_.small() : 0);
  hello.set_node(input_.small());
  hello.set_address("peer:1");
  hello.set_host(input_.flag() ? "there:1" : "here:1");
  note_hello(message);
  if (Peer::Line* line = peer_.line_from(input_)) peer_.send_control(*line, message);
}

void Session::send_data(bool any_kind) {
  Peer::Line* line = peer_.line_from(input_);
  if (line == nullptr) return;
  constexpr std::uint32_t kTensors[] = {7, 1, 0, 2};
  wire::Header header;
  header.kind = input_.flag() ? wire::Kind::kPush : wire::Kind::kPull;
  if (any_kind) header.kind = static_cast<wire::Kind>(input_.byte());
  header.key = {input_.rarely(16) ? input_.small() : kTensors[input_.below(4)], input_.small()};
  header.version = input_.number();
  header.base = input_.number();
  header.priority = static_cast<std::int32_t>(input_.small());
  header.flags = input_.rarely(16) ? input_.take<std::uint16_t>()
                                   : static_cast<std::uint16_t>(input_.below(8));
  header.dtype = static_cast<std::uint8_t>(input_.rarely(8) ? input_.byte() : 1 + input_.below(8));
  constexpr std::size_t kSizes[] = {64, 32, 0, 4, 8, 16};
  const std::size_t choice = input_.below(8);
  std::size_t size = choice < std::size(kSizes) ? kSizes[choice] : input_.byte();
  const bool carries = header.kind == wire::Kind::kPush && (header.flags & wire::kAbsent) == 0;
  if (!carries && !input_.rarely(8)) size = 0;
  const Buffer payload = input_.payload(size);
  peer_.send_bent(*line, header, payload, input_);
}

void Session::send_raw() {
  Peer::Line* line = peer_.line_from(input_);
  if (line == nullptr) return;
  if (input_.flag()) {
    peer_.send_bent(*line, input_.take<wire::Header>(), input_.payload(input_.byte()), input_);
  } else {
    peer_.send_bent(*line, wire::Header(), input_.payload(input_.byte()), input_);
  }
}

// The same message repeatedly, as fast as the network accepts it.
void Session::repeat_message() {
  Peer::Line* line = peer_.line_from(input_);
  if (line == nullptr) return;
  const wire::Control message = control_from(input_);
  note_hello(message);
  wire::Header pull;
  pull.kind = wire::Kind::kPull;
  pull.key = {7, 0};
  pull.version = input_.number();
  const bool pulls = input_.flag();
  for (std::size_t left = std::size_t{4} * input_.byte(); left > 0; --left) {
    if (pulls ? !peer_.send(*line, pull, {}) : !peer_.send_control(*line, message)) {
      job_.run_for(200us);
      if (!line->open) return;
    }
  }
}

void Session::let_time_pass() {
  constexpr Duration kSteps[] = {100us, 1ms, 10ms, 200ms, 1s, 3s};
  job_.run_for(kSteps[input_.below(std::size(kSteps))]);
}

// With one worker in the job, the sum equals its push.
void Session::honest_operation() {
  if (!tensor_ || !tensor_->ok()) return;
  const auto share = static_cast<float>(outcomes_.size() + 1);
  outcomes_.push_back(begin(*worker_, Operation::Kind::kPushPull, **tensor_, share));
  if (peer_was_in()) return;
  const Outcome& outcome = *outcomes_.back();
  job_.run_until(5s, [&] { return outcome.status.has_value(); });
  require(outcome.status && outcome.status->ok(), "a stranger disturbs no operation");
  for (const float value : outcome.target) require(value == share, "a stranger changes no value");
  require(outcome.target.size() == kElements, "a value is whole");
}

void Session::check_all_ended() {
  job_.run_until(kOperationTimeout + 10s, [this] {
    return std::all_of(outcomes_.begin(), outcomes_.end(),
                       [](const auto& outcome) { return outcome->ends > 0; });
  });
  job_.run_for(10ms);
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
  const auto scene = static_cast<stretto::fuzz::Scene>(input.below(3));
  stretto::fuzz::Session(input, scene).run();
  return 0;
}
