// SPDX-License-Identifier: Apache-2.0
// Joining, naming, meeting and leaving.
#include "worker/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/address.h"
#include "common/check.h"
#include "common/memory.h"
#include "ops/update.h"
#include "van/van_metrics.h"

namespace stretto {
namespace {

constexpr Duration kShardPatience = 10s;
constexpr Duration kHindsight = 1s;

// What a shard is told of a tensor before its first share.
wire::Control open_of(const wire::Declared& declared, const TensorSpec& spec) {
  wire::Control message;
  message.mutable_open()->set_tensor(declared.tensor());
  message.mutable_open()->set_first_slot(declared.first_slot());
  *message.mutable_open()->mutable_spec() = to_wire(spec);
  return message;
}

// The owner of each part, from the runs of slots; empty if a slot has none.
std::vector<NodeId> owners_of(const wire::Declared& declared, std::uint32_t parts,
                              std::uint32_t slots) {
  std::map<std::uint32_t, NodeId> by_slot;
  std::uint32_t named = 0;
  for (const wire::SlotRun& run : declared.owners()) {
    if (run.first() >= slots || run.count() > slots - run.first()) return {};
    if (run.count() > slots - named) return {};  // More than there are: some are named twice.
    named += run.count();
    for (std::uint32_t i = 0; i < run.count(); ++i) by_slot[run.first() + i] = run.node();
  }
  std::vector<NodeId> owners(parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto found = by_slot.find((declared.first_slot() % slots + part) % slots);
    if (found == by_slot.end()) return {};
    owners[part] = found->second;
  }
  return owners;
}

// Where the program says nothing the rules do; no codec is written in one way only.
void choose_codec(const CodecPolicy& policy, TensorSpec& spec) {
  std::optional<CodecSpec>& codec = spec.options.codec;
  const TensorOptions& options = spec.options;
  if (!codec && !is_eager(options.mode) && !is_extreme_or_product(options.update.rule)) {
    codec = policy.choose(spec.name, spec.dtype, spec.bytes());
  }
  if (codec == CodecSpec()) codec.reset();
}

Status check_rule(const TensorSpec& spec) {
  if (is_of_its_round(spec.options)) return {};
  return ops::make_update_rule(spec.options.update, spec.dtype, 0).status();
}

}  // namespace

WorkerNode::WorkerNode(const Config& config, std::unique_ptr<Transport> transport,
                       const Clock& clock, std::unique_ptr<Coder> coder)
    : config_(config),
      clock_(clock),
      van_(std::move(transport), clock),
      membership_(config, {}, van_, clock),
      trace_(config, van_),
      exchange_(van_, clock, tensors_, config.operation_timeout, std::move(coder)),
      states_(van_, clock, config.operation_timeout),
      stand_in_(tensors_, exchange_,
                {.declare = [this](const TensorSpec& spec,
                                   Declared done) { declare(spec, std::move(done)); },
                 .tell = [this](const wire::SitOut& said) { tell_shards(said); }}),
      barriers_(clock, config.operation_timeout, stand_in_, [this](const wire::Barrier& barrier) {
        wire::Control message;
        *message.mutable_barrier() = barrier;
        van_.send_control(membership_.scheduler_link(), message);
      }) {
  exchange_.set_tracer(&trace_.tracer());
  if (config.whole_frames) van_.set_whole_frames();
}

// ---- requests

void WorkerNode::join(Done done) {
  joining_ = std::move(done);
  membership_.start();
}

Status WorkerNode::gone() const {
  // Who else heard of a disagreement may have gone because of it, before we could be told.
  const bool because = membership_.status().code() == Code::kPeerLost && !disagreement_.ok() &&
                       ended_at_ - disagreed_at_ <= kHindsight;
  if (because) return disagreement_;
  if (!membership_.status().ok()) return membership_.status();
  return {Code::kCancelled,
          ended_ ? "this worker has left the job" : "this worker is leaving the job"};
}

void WorkerNode::declare(TensorSpec spec, Declared done) {
  if (is_going()) return done(gone());
  choose_codec(config_.codecs, spec);
  if (Status status = check(spec); !status.ok()) return done(status);
  spec = canonical(std::move(spec));
  // A server would say so too, but not before the first push.
  if (Status why = check_rule(spec); !why.ok()) {
    return done(Status(why.code(), fmt::format("tensor '{}': {}", spec.name, why.cause())));
  }
  if (const TensorState* known = tensors_.find(spec.name);
      known != nullptr && known->spec == spec) {
    return done(Tensor{known->id, spec.dtype, spec.elements});
  }
  auto [pending, is_new] = declares_.try_emplace(spec.name);
  if (!is_new && !(pending->second.spec == spec)) {
    return done(
        Status(Code::kMismatch, fmt::format("tensor '{}': declared here as {} and as {}", spec.name,
                                            pending->second.spec.describe(), spec.describe())));
  }
  pending->second.done.push_back(std::move(done));
  if (!is_new) return;
  pending->second.spec = spec;
  pending->second.deadline = after(clock_.now(), config_.operation_timeout);
  wire::Control message;
  *message.mutable_declare()->mutable_spec() = to_wire(spec);
  van_.send_control(membership_.scheduler_link(), message);
}

void WorkerNode::start(const std::shared_ptr<Operation>& operation) {
  Status refused = is_going() ? gone() : stand_in_.refusal();
  if (refused.ok()) return exchange_.start(operation);
  operation->ticket->end_one(
      std::move(refused).with_operation(fmt::format("{}", name_of(operation->kind))), {});
}

Status WorkerNode::check_stateful(const Tensor& tensor) const {
  if (is_going()) return gone();
  if (Status status = tensors_.check(tensor); !status.ok()) return status;
  const TensorSpec& spec = tensors_.find(tensor.id)->spec;
  if (is_optimizer(spec.options.update.rule)) return {};
  return {Code::kInvalidArgument,
          fmt::format("tensor '{}' is {}: no update rule, and so nothing to remember", spec.name,
                      spec.describe())};
}

StateTransfers::Target WorkerNode::target_of(const Tensor& tensor) const {
  return {.tensor = tensor.id,
          .spec = tensors_.find(tensor.id)->spec,
          .part_bytes = membership_.settings().part_bytes,
          .links = tensors_.links_of(tensor.id)};
}

void WorkerNode::save_state(const Tensor& tensor, StateTransfers::Saved done) {
  if (Status status = check_stateful(tensor); !status.ok()) return done(status);
  states_.save(target_of(tensor), std::move(done));
}

void WorkerNode::load_state(const Tensor& tensor, std::span<const std::byte> state,
                            const Done& done) {
  if (Status status = check_stateful(tensor); !status.ok()) return done(status);
  states_.load(target_of(tensor), state, done);
}

void WorkerNode::barrier(const Done& done) {
  if (is_going()) return done(gone().with_operation("barrier"));
  barriers_.barrier([done](const Result<Rank>& last) { done(last.status()); });
}

// The others may go on for as long as they like; if one of them is lost, we hear of that.
void WorkerNode::sit_out(BarrierCalls::Done done) {
  if (is_going()) return done(gone().with_operation("sit_out"));
  barriers_.sit_out(std::move(done));
}

void WorkerNode::tell_shards(const wire::SitOut& said) {
  if (ended_) return;
  wire::Control message;
  *message.mutable_sit_out() = said;
  for (const auto& [node, shard] : shards_) van_.send_control(shard.link, message);
}

void WorkerNode::leave(Done done) {
  if (ended_) return done(gone().with_operation("leave"));
  leaving_.push_back(std::move(done));
  go_if_free();
}

void WorkerNode::abandon() {
  membership_.fail({Code::kCancelled, "this worker was destroyed before it had left the job"});
  finish();
}

void WorkerNode::go_if_free() {
  if (leaving_.empty() || membership_.state() != Membership::State::kMember ||
      !exchange_.operations().idle() || !states_.idle() || !declares_.empty() ||
      !barriers_.idle()) {
    return;
  }
  wire::Control message;
  message.mutable_leave();
  for (const auto& [node, shard] : shards_) van_.send_control(shard.link, message);
  membership_.leave();
}

// ---- what comes

void WorkerNode::on_control(LinkId link, const wire::Control& message) {
  if (link == membership_.scheduler_link()) {
    if (!membership_.on_control(link, message) && !trace_.on_control(link, message)) {
      on_scheduler(message);
    }
    return;
  }
  ShardLink* shard = find_shard(link);
  if (shard == nullptr) {
    van_.refuse(link, {Code::kRefused, "a worker takes no callers"});
  } else if (message.has_welcome()) {
    shard->welcomed = true;
    van_.admit(link, shard->member.node);
    check_joined();
  } else if (message.has_fault() && message.fault().tensor() == 0) {
    membership_.fail(status_of(message.fault()).with_peer(shard->member.describe()));
  } else if (message.has_state_piece()) {
    states_.on_piece(message.state_piece());
  } else if (message.has_fault()) {
    on_fault(message.fault(), shard->member.describe());
  } else if (message.has_wanted()) {
    if (Status status = stand_in_.on_wanted(message.wanted()); !status.ok()) {
      membership_.fail(std::move(status).with_peer(shard->member.describe()));
    }
  }
}

void WorkerNode::on_scheduler(const wire::Control& message) {
  if (message.has_declared()) {
    on_declared(message.declared());
  } else if (message.has_fault()) {
    on_fault(message.fault(), "scheduler");
  } else if (message.has_barrier()) {
    barriers_.on_open(message.barrier());
  }
}

void WorkerNode::on_declared(const wire::Declared& declared) {
  auto pending = declares_.find(declared.name());
  if (pending == declares_.end()) return;
  const PendingDeclare declare = std::move(pending->second);
  declares_.erase(pending);
  const Roster& roster = *membership_.roster();
  const Cut cut(declare.spec, roster.settings.part_bytes);
  const std::vector<NodeId> owners = owners_of(declared, cut.parts(), roster.slots);
  std::vector<LinkId> links;
  for (NodeId owner : owners) {
    auto shard = shards_.find(owner);
    if (shard != shards_.end()) links.push_back(shard->second.link);
  }
  Result<Tensor> result = Tensor{declared.tensor(), declare.spec.dtype, declare.spec.elements};
  if (links.size() != cut.parts()) {
    result = Status(Code::kMalformed, "the scheduler named no owner for some part");
  } else if (tensors_.find(declared.tensor()) != nullptr) {
    result = Status(Code::kMalformed, fmt::format("the scheduler gave tensor '{}' the identity {}, "
                                                  "which is another's",
                                                  declare.spec.name, declared.tensor()));
  } else {
    tensors_.add(declared.tensor(), declare.spec, cut, links, rank());
    trace_.name(declared.tensor(), declare.spec.name);
    const wire::Control open = open_of(declared, declare.spec);
    for (LinkId link : std::set<LinkId>(links.begin(), links.end())) van_.send_control(link, open);
  }
  for (const Declared& done : declare.done) done(result);
}

void WorkerNode::on_fault(const wire::Fault& fault, const std::string& peer) {
  const Status why = status_of(fault).with_peer(peer);
  if (fault.name() == "barrier" && fault.tensor() == 0) {
    barriers_.end_all(why);
    return;
  }
  if (why.code() == Code::kMismatch) {
    disagreement_ = why;
    disagreed_at_ = clock_.now();
  }
  auto pending = declares_.find(fault.name());
  if (pending != declares_.end()) {
    const PendingDeclare declare = std::move(pending->second);
    declares_.erase(pending);
    for (const Declared& done : declare.done) done(Status(why).with_operation("declare"));
  }
  if (fault.tensor() != 0) exchange_.on_fault({fault.tensor(), fault.part()}, why);
}

void WorkerNode::on_data(LinkId, const wire::Header& header, Buffer payload) {
  exchange_.on_data(header, payload);
}

void WorkerNode::on_acked(LinkId, wire::Key key) { exchange_.on_acked(key); }

void WorkerNode::on_broken(LinkId link, const Status& why) {
  if (membership_.on_broken(link, why)) return;
  ShardLink* shard = find_shard(link);
  if (shard == nullptr || membership_.state() == Membership::State::kLeaving) return;
  const std::string who = shard->member.describe();
  if (why.code() == Code::kResource) {  // What ran out is this process's own.
    return membership_.resign(
        Status(why.code(), fmt::format("the link to {}: {}", who, why.cause())));
  }
  membership_.report_broken(
      shard->member.node, why,
      Status(Code::kServerLost, fmt::format("the link to {} at {} broke: {}", who,
                                            host_port_of(shard->member.address), why.cause()))
          .with_peer(who));
}

WorkerNode::ShardLink* WorkerNode::find_shard(LinkId link) {
  for (auto& [node, shard] : shards_) {
    if (shard.link == link) return &shard;
  }
  return nullptr;
}

// ---- time

void WorkerNode::step(Duration wait) {
  if (ended_) return;
  try {
    van_.step(*this, wait);
    tick();
  } catch (const std::bad_alloc& thrown) {
    const Time now = clock_.now();
    if (now > without_memory_until_) throw;
    without_memory_until_ = std::min(without_memory_until_, now + kPatienceWithoutMemory);
    membership_.resign(out_of_memory(thrown));
  }
}

void WorkerNode::tick() {
  if (membership_.heartbeat_is_due()) {
    membership_.set_progress(progress());
    exchange_.set_elsewhere(membership_.elsewhere());
  }
  membership_.tick();
  limit_input(membership_.input_limit_bytes());
  trace_.tick(membership_, 0, exchange_.progress().most_rounds);
  exchange_.tick();
  states_.tick();
  const Time now = clock_.now();
  if (pen_.due(now)) pen_.put(metrics(), now);
  if (membership_.state() == Membership::State::kMember && shards_.empty()) connect_shards();
  if (!joined_ && now >= join_deadline_) {
    for (const auto& [node, shard] : shards_) {
      if (shard.welcomed) continue;
      membership_.fail(
          Status(Code::kServerLost,
                 fmt::format("{} at {} did not answer; can this host reach it?",
                             shard.member.describe(), host_port_of(shard.member.address)))
              .with_peer(shard.member.describe())
              .with_operation("join"));
      break;
    }
  }
  for (auto it = declares_.begin(); it != declares_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    const PendingDeclare late = std::move(it->second);
    it = declares_.erase(it);
    for (const Declared& done : late.done) {
      done(Status(Code::kTimeout,
                  fmt::format("the scheduler did not answer for tensor '{}'", late.spec.name))
               .with_operation("declare"));
    }
  }
  if (barriers_.late()) {
    barriers_.end_all(exchange_.operations().with_elsewhere(
        {Code::kTimeout, "not every worker came to the barrier in time"}));
  }
  barriers_.enter_if_ready();
  if (exchange_.operations().stuck())
    membership_.fail({Code::kTimeout, "a link takes no more bytes"});
  go_if_free();
  if (membership_.over()) finish();
}

Membership::Progress WorkerNode::progress() {
  return {.rounds = exchange_.progress().most_rounds,
          .staleness = exchange_.progress().last_staleness,
          .input = input_ == nullptr ? std::nullopt : input_->totals(clock_.now()),
          .waits_in = waits_in(),
          .reports = reports_.take()};
}

// Of what has waited for a heartbeat or longer.
std::string WorkerNode::waits_in() const {
  const Time before = clock_.now() - membership_.settings().heartbeat;
  std::string oldest = exchange_.operations().oldest(before);
  return oldest.empty() ? barriers_.oldest(before) : oldest;
}

void WorkerNode::limit_input(std::uint64_t bytes) {
  if (input_ == nullptr || bytes == input_limit_bytes_) return;
  input_limit_bytes_ = bytes;
  input_->set_limit(bytes);
}

metrics::Metrics WorkerNode::metrics() {
  using metrics::Type;
  const metrics::Labels labels = {{"role", "worker"}, {"rank", std::to_string(rank())}};
  metrics::Metrics made = metrics_of(van_, labels);
  const metrics::Adder add(made, labels);
  add("stretto_rounds_total", Type::kCounter, exchange_.progress().most_rounds,
      "Rounds that this worker has pushed, of the tensor with most.");
  add("stretto_parts_total", Type::kCounter, exchange_.progress().staleness.count,
      "Values of parts that have come.");
  add("stretto_operations_under_way", Type::kGauge, exchange_.operations().count(),
      "Operations that have begun and not ended.");
  add("stretto_heartbeats_total", Type::kCounter, membership_.heartbeats(),
      "Heartbeats sent to the scheduler.");
  add("stretto_staleness", Type::kHistogram, exchange_.progress().staleness.sum,
      "Updates of others between two values of a part.");
  made.back().buckets = exchange_.progress().staleness.buckets();
  if (const auto& input = membership_.progress().input) {
    add("stretto_input_delivered_bytes_total", Type::kCounter, input->delivered_bytes,
        "What the readers of this process have delivered.");
    add("stretto_input_stall_seconds_total", Type::kCounter,
        std::chrono::duration<double>(input->stall).count(),
        "Time in which the program waited for them.");
  }
  for (const auto& [name, value] : reports_.all()) {
    add("stretto_reported", Type::kGauge, value, "What the program last reported by this name.");
    made.back().labels.emplace_back("name", name);
  }
  return made;
}

Time WorkerNode::next_due() const {
  if (ended_) return Time::max();
  Time due = std::min({van_.next_due(), membership_.next_due(), exchange_.operations().next_due(),
                       states_.next_due(), barriers_.next_due()});
  if (!joined_) due = std::min(due, join_deadline_);
  for (const auto& [name, pending] : declares_) due = std::min(due, pending.deadline);
  return due;
}

void WorkerNode::connect_shards() {
  for (const Member& member : membership_.roster()->members) {
    if (member.role != Role::kServer) continue;
    Result<LinkId> link = van_.connect(member.address, membership_.hello());
    if (!link.ok()) {
      membership_.fail(std::move(link.status()).with_peer(member.describe()));
      return;
    }
    shards_[member.node] = {.member = member, .link = *link};
  }
  if (shards_.empty()) {
    membership_.fail(Status(Code::kMalformed, "the scheduler's roster names no server")
                         .with_peer("scheduler")
                         .with_operation("join"));
  }
  join_deadline_ = clock_.now() + kShardPatience;
}

void WorkerNode::check_joined() {
  joined_ = std::all_of(shards_.begin(), shards_.end(),
                        [](const auto& item) { return item.second.welcomed; });
  if (joined_ && joining_) std::exchange(joining_, nullptr)({});
}

// The membership is over: everything that anybody waits for ends now. Tickets end when nobody reads
// their memory, and so after the transport.
void WorkerNode::finish() {
  if (ended_) return;
  ended_ = true;
  ended_at_ = clock_.now();
  limit_input(0);
  const Status why = gone();
  const bool in_order = membership_.state() == Membership::State::kLeft;
  van_.shut();
  exchange_.end_all(why);
  STRETTO_CHECK(exchange_.operations().idle());
  states_.end_all(why);
  for (auto& [name, pending] : std::exchange(declares_, {})) {
    for (const Declared& done : pending.done) done(Status(why).with_operation("declare"));
  }
  barriers_.end_all(why);
  if (joining_) std::exchange(joining_, nullptr)(Status(why).with_operation("join"));
  for (const Done& done : std::exchange(leaving_, {})) done(in_order ? Status() : why);
}

}  // namespace stretto
