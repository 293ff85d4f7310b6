// SPDX-License-Identifier: Apache-2.0
// The scheduler's phases, and its answers to what nodes say.
#include "scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "scheduler/hello.h"
#include "van/greeting.h"

namespace stretto {
namespace {

constexpr Duration kWatchEvery = 100ms;
constexpr Duration kTraceEvery = 20ms;
constexpr Duration kLeastWindow = 1s;        // Of judging input.
constexpr Duration kSuspicion = 2s;          // How long a reported break may wait for its cause.
constexpr Duration kFarewell = 500ms;        // How long failing waits for its words to leave.
constexpr std::size_t kSpareAnswers = 4096;  // Beyond one for each tensor: barriers, signs of life.
constexpr std::size_t kMostReported = 1024;  // Bytes of a report's cause.
constexpr Duration kDispersal = 3s;          // How long servers have to go.

wire::Control mismatch_message(const Registry::Entry& entry) {
  wire::Control message = fault_message(entry.broken, entry.spec.name);
  message.mutable_fault()->set_tensor(entry.id);
  return message;
}

Code lost_code(Role role) { return role == Role::kServer ? Code::kServerLost : Code::kPeerLost; }

}  // namespace

Scheduler::Scheduler(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock)
    : config_(config),
      clock_(clock),
      van_(std::move(transport), clock),
      began_(clock.now()),
      deadline_(began_ + config.rendezvous_timeout),
      next_watch_(clock.now()),
      roll_(config),
      input_(std::max(kLeastWindow, 2 * config.job.heartbeat), config.balance_input) {
  van_.set_node(kSchedulerNode);
  van_.set_dead_after(config.job.dead_after);
}

Result<std::string> Scheduler::listen(std::string_view address) { return van_.listen(address); }

void Scheduler::step(Duration wait) {
  van_.step(*this, wait);
  publish_departures();
  tick();
}

Time Scheduler::next_due() const {
  const Time due = std::min({van_.next_due(), next_watch_, deadline_});
  return trace_.active() ? std::min(due, clock_.now() + kTraceEvery) : due;
}

std::string_view Scheduler::phase() const {
  constexpr std::string_view kNames[] = {"gathering", "running", "dispersing", "failing", "over"};
  return kNames[static_cast<std::size_t>(phase_)];
}

// ---- what nodes say

void Scheduler::on_control(LinkId link, const wire::Control& message) {
  if (message.has_hello()) {
    on_hello(link, message.hello());
    return;
  }
  if (observers_.has(link)) return observe(link, message);
  auto known = by_link_.find(link);
  if (known == by_link_.end()) return;
  Node& node = nodes_.at(known->second);
  node.last_heard = clock_.now();
  if (van_.queue().waiting(link) > registry_.size() + kSpareAnswers) {
    van_.refuse(link, {Code::kResource, "too many answers wait: this node does not read them"});
    return;
  }
  if (message.has_heartbeat()) return on_heartbeat(node, message);
  if (message.has_trace_chunk()) {
    trace_.on_chunk(node.member.node, message.trace_chunk(), clock_.now());
    return go_on_tracing();
  }
  if (message.has_leave() && phase_ != Phase::kFailing) on_leave(node);
  if (message.has_failure()) return lose(node, status_of(message.failure()).cause());
  if (phase_ != Phase::kRunning) return;
  if (node.member.role == Role::kWorker) {
    if (message.has_declare()) on_declare(node, message.declare());
    if (message.has_barrier()) on_barrier(node, message.barrier());
  }
  if (message.has_link_report()) on_link_report(node, message.link_report());
}

void Scheduler::on_heartbeat(const Node& node, const wire::Control& message) {
  const wire::Heartbeat& beat = message.heartbeat();
  picture_.heard(node.member.node, beat, node.last_heard);
  if (node.member.role == Role::kWorker && !node.member.left) {
    overview_.heard(node.member.rank, beat.rounds(), beat.staleness(), node.last_heard);
    whereabouts_.heard(node.member.rank, beat.waits_in());
    if (beat.has_input()) input_.heard(node.member.rank, beat.input());
  }
  wire::Control answer;
  answer.mutable_heartbeat()->set_number(beat.number());
  if (node.member.role == Role::kWorker) {
    answer.mutable_heartbeat()->set_input_limit_bytes(input_.limit_of(node.member.rank));
    answer.mutable_heartbeat()->set_elsewhere(whereabouts_.elsewhere(node.member.rank));
  }
  van_.send_control(node.link, answer);
}

void Scheduler::on_data(LinkId link, const wire::Header&, Buffer) {
  van_.refuse(link, {Code::kMalformed, "the scheduler takes no data frames"});
}

// ---- those who look on

void Scheduler::on_observer(LinkId link, const wire::Hello& hello) {
  Status status = check_greeting(hello, config_.token);
  if (status.ok()) status = observers_.add(link);
  if (!status.ok()) {
    van_.refuse(link, status);
    return;
  }
  const NodeId identity = roll_.identity();
  van_.admit_visitor(link, identity);
  wire::Control welcome;
  welcome.mutable_welcome()->set_node(identity);
  van_.send_control(link, welcome);
}

void Scheduler::observe(LinkId link, const wire::Control& message) {
  if (!message.has_observe() || van_.queue().waiting(link) > Observers::kMostUnread) {
    observers_.remove(link);
    van_.refuse(link, {Code::kMalformed, "a tool asks, and reads its answers"});
    return;
  }
  van_.send_control(link, Observers::answer(message.observe(),
                                            {.picture = picture_,
                                             .registry = registry_,
                                             .trace = trace_,
                                             .phase = phase(),
                                             .members = roster_.members},
                                            clock_.now()));
  go_on_tracing();
}

Status Scheduler::start_trace(std::uint32_t iterations, std::uint32_t seconds) {
  return trace_.start(roster_.members, iterations, seconds, clock_.now());
}

std::map<std::uint32_t, std::string> Scheduler::tensor_names() const {
  std::map<std::uint32_t, std::string> names;
  for (auto& [id, name] : registry_.names(0, kMaxTensors)) names.emplace(id, name);
  return names;
}

// Says to nodes what their trace wants of them now.
void Scheduler::go_on_tracing() {
  for (const TraceSession::Order& order : trace_.due(clock_.now())) {
    const auto node = nodes_.find(order.node);
    if (node == nodes_.end() || node->second.link == 0) {
      trace_.gone(order.node);
      continue;
    }
    wire::Control message;
    *message.mutable_trace_command() = order.command;
    van_.send_control(node->second.link, message);
  }
}

// ---- members

void Scheduler::on_hello(LinkId link, const wire::Hello& hello) {
  if (hello.role() == static_cast<std::uint32_t>(Role::kObserver)) return on_observer(link, hello);
  const Result<Join> join = join_from(hello, config_.token);
  const Result<Member> member = join.ok() ? roll_.admit(*join) : join.status();
  if (!member.ok()) {
    log(Level::kWarning, "refused: {}", member.status().cause());
    van_.refuse(link, member.status());
    return;
  }
  nodes_[member->node] = Node{*member, link, clock_.now()};
  by_link_[link] = member->node;
  van_.admit(link, member->node);
  wire::Control welcome;
  welcome.mutable_welcome()->set_node(member->node);
  welcome.mutable_welcome()->set_rank(member->rank);
  welcome.mutable_welcome()->set_job(static_cast<std::uint64_t>(began_.time_since_epoch().count()));
  van_.send_control(link, welcome);
  log(Level::kDebug, "{} came from {}", member->describe(), hello.host());
  if (phase_ == Phase::kGathering && roll_.complete()) begin();
}

void Scheduler::on_declare(const Node& node, const wire::Declare& declare) {
  wire::Control answer;
  const std::uint32_t part_bytes = roster_.settings.part_bytes;
  Result<TensorSpec> spec = from_wire(declare.spec());
  Status status = spec.status();
  if (status.ok() && spec->elements / Cut(*spec, part_bytes).part_elements >= kMaxParts) {
    status = {Code::kInvalidArgument,
              fmt::format("tensor '{}' of {} bytes makes more than {} parts of {} bytes; raise "
                          "STRETTO_PART_BYTES",
                          spec->name, spec->bytes(), kMaxParts, part_bytes)};
  }
  if (!status.ok()) return refuse_tensor(node, declare.spec().name(), status);
  const Result<Registry::Declaration> made = registry_.declare(
      *spec, node.member.rank, [this](const Cut& cut) { return slots_->place(slot_map_, cut); },
      part_bytes);
  if (!made.ok()) return refuse_tensor(node, spec->name, made.status());
  const Registry::Entry& entry = made->entry;
  if (made->breaks) return tell_mismatch(entry);
  if (!entry.broken.ok()) {
    van_.send_control(node.link, mismatch_message(entry));
    return;
  }
  wire::Declared& declared = *answer.mutable_declared();
  declared.set_tensor(entry.id);
  declared.set_name(entry.spec.name);
  declared.set_first_slot(entry.first_slot);
  const std::uint32_t parts = Cut(entry.spec, part_bytes).parts();
  add_owners(slot_map_.runs(entry.first_slot, parts), declared);
  van_.send_control(node.link, answer);
}

void Scheduler::refuse_tensor(const Node& node, const std::string& name, const Status& why) {
  wire::Control answer = fault_message(why);
  answer.mutable_fault()->set_name(name.substr(0, kMaxNameBytes));
  van_.send_control(node.link, answer);
}

// All who have declared it hear of it, by name and by id; who declares it later hears it then.
void Scheduler::tell_mismatch(const Registry::Entry& entry) {
  const Buffer bytes = serialize(mismatch_message(entry));
  for (const auto& [id, node] : nodes_) {
    const Member& member = node.member;
    const bool declared = member.rank < entry.declared.size() && entry.declared[member.rank];
    if (member.role == Role::kWorker && declared) van_.send_control(node.link, bytes);
  }
}

void Scheduler::on_barrier(Node& node, const wire::Barrier& barrier) {
  wire::Control answer;
  *answer.mutable_barrier() = barrier;
  answer.mutable_barrier()->set_last(node.member.rank);
  const bool sits_out = barrier.sits_out();
  switch (barriers_.enter(barrier.number(), node.member.node, roster_.workers, sits_out)) {
    case Barriers::Outcome::kMixed:
      return van_.send_control(node.link, fault_message(Barriers::mixed(sits_out), "barrier"));
    case Barriers::Outcome::kComplete:
      for (const Buffer bytes = serialize(answer); const auto& [id, other] : nodes_) {
        if (other.member.role == Role::kWorker) van_.send_control(other.link, bytes);
      }
      return;
    case Barriers::Outcome::kPast:
      return van_.send_control(node.link, answer);
    case Barriers::Outcome::kOutOfBounds:
      return van_.refuse(node.link, {Code::kMalformed,
                                     fmt::format("barrier {} is out of turn", barrier.number())});
    case Barriers::Outcome::kWaiting:
      break;
  }
  for (const auto& [id, other] : nodes_) {  // Somebody who left will never come.
    if (other.member.role == Role::kWorker && other.member.left) fail_barriers(other.member);
  }
}

void Scheduler::fail_barriers(const Member& absent) {
  const std::set<NodeId> waiting = barriers_.give_up(absent.node);
  if (waiting.empty()) return;
  const Status why(Code::kPeerLost, absent.describe() + " has left the job and will not come");
  const Buffer bytes =
      serialize(fault_message(Status(why).with_peer(absent.describe()), "barrier"));
  for (const NodeId node : waiting) van_.send_control(nodes_.at(node).link, bytes);
}

void Scheduler::on_leave(Node& node) {
  wire::Control answer;
  answer.mutable_leave();
  van_.send_control(node.link, answer);
  if (node.member.left) return;
  node.member.left = true;
  picture_.left(node.member.node);
  trace_.gone(node.member.node);
  if (node.member.role == Role::kWorker) {
    overview_.left(node.member.rank);
    whereabouts_.left(node.member.rank);
    input_.left(node.member.rank);
  }
  if (phase_ == Phase::kGathering) return;
  for (Member& member : roster_.members) {
    if (member.node == node.member.node) member.left = true;
  }
  departed_.push_back(node.member);
  if (!all_workers_left()) return;
  phase_ = Phase::kDispersing;
  deadline_ = clock_.now() + kDispersal;
  broadcast(answer);
}

void Scheduler::on_link_report(const Node& node, const wire::LinkReport& report) {
  auto subject = nodes_.find(report.node());
  if (subject == nodes_.end() || subject->second.member.left) return;
  const bool known = std::any_of(suspicions_.begin(), suspicions_.end(), [&](const Doubt& s) {
    return s.reporter == node.member.node && s.subject == report.node();
  });
  if (known) return;
  suspicions_.push_back({.reporter = node.member.node,
                         .subject = report.node(),
                         .cause = shortened(report.cause(), kMostReported),
                         .due = clock_.now() + kSuspicion});
}

void Scheduler::on_broken(LinkId link, const Status& why) {
  observers_.remove(link);
  auto known = by_link_.find(link);
  if (known == by_link_.end()) return;
  const NodeId id = known->second;
  Node& node = nodes_.at(id);
  by_link_.erase(known);
  node.link = 0;
  if (phase_ == Phase::kGathering) {
    log(Level::kWarning, "{} went away before the job began: {}", node.member.describe(),
        why.cause());
    roll_.remove(id);
    nodes_.erase(id);
    return;
  }
  lose(node, why.cause());
}

// ---- what the scheduler decides

void Scheduler::begin() {
  roster_ = {.epoch = 1,
             .fence = 1,
             .workers = roll_.workers(),
             .servers = config_.servers,
             .slots = kSlots,
             .members = roll_.members(),
             .settings = config_.job};
  std::vector<NodeId> shards;
  for (const Member& member : roster_.members) {
    if (member.role == Role::kServer) shards.push_back(member.node);
  }
  slot_map_ = SlotMap(kSlots, shards);
  slots_.emplace(kSlots, shards);
  picture_.set_members(roster_.members);
  phase_ = Phase::kRunning;
  deadline_ = Time::max();
  log(Level::kInfo, "all are here: {} workers, {} servers of {} shards", roll_.workers(),
      config_.servers, config_.shards);
  if (const std::size_t bytes = to_wire(roster_).ByteSizeLong(); bytes > wire::kMaxControlBytes) {
    return fail(
        {Code::kResource,
         fmt::format("the list of {} nodes and their addresses has {} bytes, and at most {} "
                     "can be sent: start fewer servers, with fewer shards, or give them "
                     "shorter host names (STRETTO_NODE_HOST)",
                     roster_.members.size(), bytes, wire::kMaxControlBytes)});
  }
  publish(roster_);
}

// To all who are still in.
void Scheduler::publish(const Roster& roster) {
  van_.set_epoch(roster.epoch, roster.fence);
  const Buffer bytes = serialize(to_wire(roster));
  for (const auto& [id, node] : nodes_) {
    if (!node.member.left) van_.send_control(node.link, bytes);
  }
}

// Those of one turn together, and nothing of the others: when W workers leave at once, a whole
// roster to each of them for each of them would be W^3 entries.
void Scheduler::publish_departures() {
  if (departed_.empty() || phase_ != Phase::kRunning) return;
  const std::vector<Member> departed = std::exchange(departed_, {});
  const std::uint32_t before = roster_.epoch++;
  publish({.epoch = roster_.epoch,
           .fence = roster_.fence,
           .workers = roster_.workers,
           .servers = roster_.servers,
           .slots = roster_.slots,
           .since = before,
           .members = departed,
           .settings = roster_.settings});
  for (const Member& member : departed) fail_barriers(member);
}

void Scheduler::broadcast(const wire::Control& message) {
  const Buffer bytes = serialize(message);
  for (const auto& [id, node] : nodes_) {
    if (node.link != 0) van_.send_control(node.link, bytes);
  }
}

void Scheduler::lose(Node& node, const std::string& cause) {
  if (phase_ != Phase::kRunning || node.member.left) return;
  fail(Status(lost_code(node.member.role),
              fmt::format("{} is lost: {}", node.member.describe(), cause))
           .with_peer(node.member.describe()));
}

void Scheduler::fail(Status why) {
  if (phase_ == Phase::kFailing || phase_ == Phase::kOver) return;
  wire::Control message;
  message.mutable_failure()->set_code(static_cast<std::uint32_t>(why.code()));
  message.mutable_failure()->set_peer(why.peer());
  message.mutable_failure()->set_cause(why.cause());
  broadcast(message);
  status_ = std::move(why);
  phase_ = Phase::kFailing;
  deadline_ = clock_.now() + kFarewell;
}

bool Scheduler::all_workers_left() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& item) {
    return item.second.member.role != Role::kWorker || item.second.member.left;
  });
}

// ---- time

void Scheduler::tick() {
  const Time now = clock_.now();
  if (now >= next_watch_) {
    next_watch_ = now + kWatchEvery;
    watch(now);
  }
  if (trace_.active()) go_on_tracing();
  const bool late = now >= deadline_;
  switch (phase_) {
    case Phase::kGathering:
      if (late) {
        fail(Status(Code::kRendezvousTimeout,
                    fmt::format("not everybody came within {} s; missing: {}",
                                seconds(config_.rendezvous_timeout), roll_.missing()))
                 .with_peer(roll_.missing())
                 .with_operation("rendezvous"));
      }
      break;
    case Phase::kDispersing:  // The answer to the last workers may still be on its way.
    case Phase::kFailing: {
      const bool alone = std::all_of(nodes_.begin(), nodes_.end(),
                                     [](const auto& item) { return item.second.link == 0; });
      if (alone || late) phase_ = Phase::kOver;
      break;
    }
    case Phase::kRunning:
    case Phase::kOver:
      break;
  }
}

void Scheduler::watch_input(Time now) {
  if (!input_.due(now)) return;
  for (const InputWatch::Word& word : input_.judge(now)) {
    log(word.alarming ? Level::kWarning : Level::kInfo, "{}", word.text);
  }
  picture_.set_input(input_.workers());
}

void Scheduler::watch(Time now) {
  if (wakefulness_.slept(now)) {
    for (auto& [id, node] : nodes_) node.last_heard = now;
  }
  if (phase_ != Phase::kRunning) return;
  if (const std::string slow = overview_.laggards(now); !slow.empty()) {
    log(Level::kWarning, "a worker falls behind: {}", slow);
  }
  watch_input(now);
  for (auto& [id, node] : nodes_) {
    if (!node.member.left && now - node.last_heard > config_.job.dead_after) {
      lose(node, fmt::format("nothing heard of it for {:.1f} s on its link to the scheduler",
                             seconds(now - node.last_heard)));
      return;
    }
  }
  for (const Doubt& suspicion : suspicions_) {
    if (now < suspicion.due) continue;
    const Member& reporter = nodes_.at(suspicion.reporter).member;
    const Member& subject = nodes_.at(suspicion.subject).member;
    if (subject.left || reporter.left) continue;
    fail(Status(Code::kLinkBroken,
                fmt::format("{} lost its link to {}, though both are alive: {}",
                            reporter.describe(), subject.describe(), suspicion.cause))
             .with_peer(fmt::format("{}, {}", reporter.describe(), subject.describe())));
    return;
  }
  std::erase_if(suspicions_, [now](const Doubt& s) { return now >= s.due; });
}

}  // namespace stretto
