// SPDX-License-Identifier: Apache-2.0
// The handling of each frame.
#include "server/shard.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "common/check.h"
#include "common/log.h"
#include "common/network/address.h"
#include "server/monitoring/contribution_trace.h"
#include "server/monitoring/shard_metrics.h"
#include "server/storage/optimizer_state.h"

namespace stretto {
namespace {

constexpr std::size_t kSpareAnswers = 4096;  // Beyond two for each part: faults, hellos.
constexpr std::size_t kSpareStates = 64;     // The same limit for answers with a piece of state.

Status too_many_waits() {
  return {Code::kResource, "this worker waits for one part more than twice at a time"};
}

Status too_many_answers() {
  return {Code::kResource, "too many answers wait: this worker does not take them"};
}

// A worker waits for a part's round, and in a pull for its value: at most twice.
bool waits_too_often(const Part& part, NodeId worker) {
  return part.waiting.size() > 2 * part.collector.rounds().group()->size() &&
         part.waiting.count_of(worker) > 2;
}

// By the part's rounds: a worker that joined later counts its own from 1.
PushId id_of(const wire::PushFrame& push, NodeId worker, const Part& part) {
  return {worker, push.key, part.collector.rounds().rounds_before(worker) + push.round};
}

Share share_of(const wire::PushFrame& push, const PushId& id, Buffer payload) {
  return {.worker = id.worker,
          .round = id.round,
          .assign = push.assigns,
          .absent = push.absent,
          .listens = push.absent && push.uncounted,
          .root = push.root,
          .root_view = push.root_view,
          .codec = push.codec,
          .bytes = std::move(payload)};
}

Waiter waiter_of(WorkerLinks::Worker worker, const wire::Header& header,
                 const Consistency::Gate& gate, const Clock& clock, Time since) {
  const auto push = wire::PushFrame::of(header);
  return {.worker = worker.node,
          .priority = push.priority,
          .deadline = deadline_in(header.deadline, clock),
          .wants_value = push.wants_value && !gate.made_nothing,
          .pushed = true,
          .assigns = push.assigns,
          .gate = gate,
          .since = since};
}

// For a counted contribution: true if its sender waits again for the outcome.
bool waits_again(Part& part, WorkerLinks::Worker worker, const wire::Header& header, bool owed,
                 const Clock& clock) {
  const auto push = wire::PushFrame::of(header);
  const bool answered = push.wants_value || are_collected(part.spec.options.mode, push.assigns);
  if (!owed && !(push.again && answered)) return false;
  const Consistency& rounds = part.collector.rounds();
  const bool ended = rounds.applied_of(worker.node) >= id_of(push, worker.node, part).round;
  const Consistency::Gate gate = rounds.gate_after(push.assigns, ended);
  part.waiting.add(waiter_of(worker, header, gate, clock, clock.now()));
  return true;
}

// The connection to it failed.
void report_other(MembershipClient& membership, const Member* other, const Status& why) {
  if (other != nullptr) membership.report_broken(other->node, why, why);
}

void report_link(MembershipClient& membership, const Member& member, const Status& why) {
  const std::string who = member.describe();
  if (why.code() == Code::kResource) {  // This process is out of some resource.
    return membership.resign({why.code(), fmt::format("the link to {}: {}", who, why.cause())});
  }
  membership.report_broken(
      member.node, why,
      Status(Code::kPeerLost, fmt::format("the link to {} broke: {}", who, why.cause()))
          .with_peer(who));
}

struct NotedShare {
  const wire::Header& header;
  std::size_t bytes;
  bool updates;
  Time begin;
};

void note_share(TraceAgent& trace, Van& van, const NotedShare& share, const Clock& clock) {
  Tracer& tracer = trace.tracer();
  tracer.worked(share.header.codec == 0 ? share.bytes : std::numeric_limits<std::size_t>::max());
  const TraceRecord record =
      record_of_share(share.header, share.bytes, share.updates, share.begin, tracer.now(clock));
  tracer.note(TraceNote{record, van.trace().take_arrival()});
}

// True if no worker remains that could complete its open round.
bool ends_in_vain(Part& part, const PausedWorkers& sitting_out, ReplySender& announcer) {
  const Status why = sitting_out.in_vain(part.collector.rounds(), part.spec.options.mode);
  if (why.ok()) return false;
  announcer.fail(part, why);
  part.doomed = why;
  return true;
}

template <typename Word>
void tell_scheduler(Van& van, const MembershipClient& membership, const std::optional<Word>& word) {
  if (word) van.send_control(membership.scheduler().id(), *word);
}

OwnedSlots::Job job_of(const Roster& roster, const WorkerLinks& workers,
                       std::function<Status(Part&)> restore) {
  return {.workers = workers.group(),
          .slots = roster.slots,
          .since = roster.fence,
          .part_bytes = roster.settings.part_bytes,
          .elastic = roster.settings.elastic(),
          .restore = std::move(restore)};
}

// The contributors of all parts, as the previous primary reported them.
std::set<NodeId> makers_in(const OwnedSlots& slots) {
  std::set<NodeId> makers;
  slots.for_each_part([&makers](const Part& part) {
    for (const Contributor& one : part.collector.rounds().group()->all()) makers.insert(one.node);
  });
  return makers;
}

void look_for_stalls(StallWatchdog& stalls, OwnedSlots& slots, MembershipClient& membership,
                     ReplySender& announcer, Time now) {
  if (membership.heartbeats().others_pause()) stalls.excuse(now);
  if (now < stalls.next_due()) return;
  const StalledRounds waits =
      stalls.look(slots, membership.settings(), now,
                  [&announcer](Part& part, const Status& why) { announcer.fail(part, why); });
  membership.heartbeats().set_long_waits(waits.told());
}

// Updates that a change of contributors completes are released like others; parts whose open round
// cannot continue fail.
ContributorChanges::Ways ways_of(Replication& replication, ReplySender& announcer) {
  return {
      .append = [&replication](const OwnedSlots::Place& place,
                               Update update) { replication.append(place, std::move(update), 0); },
      .made_nothing = std::bind_front(&Replication::made_nothing, &replication),
      .fail =
          [&announcer](Part& part, const Status& why) {
            announcer.fail(part, why);
            part.doomed = why;
          }};
}

// A worker has failed a tensor, with the reason: it fails for all workers.
void doom(OwnedSlots& slots, ReplySender& announcer, const control::Fault& said, Rank number) {
  const Status why = Status(said.why).with_peer(fmt::format("worker {}", number));
  if (!slots.doom(said.tensor, why)) return;
  slots.for_each_part([&](Part& part) {
    if (part.key.tensor != said.tensor || !part.doomed.ok()) return;
    announcer.fail(part, why);
    part.doomed = why;
  });
}

}  // namespace

Shard::Shard(const Config& config, std::uint32_t index, std::unique_ptr<Transport> transport,
             const Clock& clock, const ShardPersistence::Files& files)
    : config_(config),
      index_(index),
      clock_(clock),
      van_(std::move(transport), clock,
           {.limits = limits_for(config),
            .whole_frames = config.whole_frames,
            .checksums = config.checksums,
            .look_ahead = config.look_ahead,
            .host = host::host_options(config)}),
      trace_(config, van_),
      workers_(config, van_),
      slots_(config.memory_limit_bytes, [this](std::size_t bytes) { return van_.allocate(bytes); }),
      announcer_(van_, workers_),
      sitting_out_([this](NodeId worker, const control::Wanted& wanted) {
        if (workers_.link_of(worker) != 0) van_.send_control(workers_.link_of(worker), wanted);
      }),
      taking_over_(van_, workers_, slots_, announcer_, clock),
      replication_(config, van_, workers_, slots_,
                   {.settled = [this](Part& part) { changes_.settled(part); },
                    .announce = std::bind_front(&Shard::announce, this),
                    .dispatch = std::bind_front(&Shard::dispatch, this),
                    .request = std::bind_front(&Shard::on_state_request, this),
                    .knows = [this](const Part& part) { return taking_over_.knows(part.key); }}),
      changes_(slots_, ways_of(replication_, announcer_)),
      archive_(config, index, files),
      held_messages_(
          {.is_ready = [this](const wire::Key& key) { return archive_.may_make(key, slots_); },
           .is_open = [this](LinkId link) { return van_.links().is_open(link); },
           .refuse = [this](LinkId link, const Status& why) { van_.links().refuse(link, why); }}) {}

Status Shard::start(std::string_view address, const std::string& advertised_host) {
  Result<std::string> bound = van_.listen(address);
  if (!bound.ok()) return bound.status();
  std::string told = *bound;
  if (!advertised_host.empty()) {
    Result<std::string> elsewhere = with_host(*bound, advertised_host);
    if (!elsewhere.ok()) return elsewhere.status();
    told = *std::move(elsewhere);
  }
  log(Level::kDebug, "listening at {}", told);
  membership_.emplace(config_, MembershipClient::Self{.shard = index_, .address = told}, van_,
                      clock_);
  membership_->start();
  return {};
}

void Shard::step(Duration wait) {
  van_.step(*this, wait);
  membership_->heartbeats().set_rounds(ended_waits_.rounds());
  // A re-registering member must send its reports before its first heartbeat.
  tell_scheduler(van_, *membership_, replication_.step(membership_->scheduler().id()));
  membership_->tick();
  trace_.tick(*membership_, index_, 0);
  follow_roster();
  tell_scheduler(van_, *membership_, archive_.step(clock_.now(), over()));
  held_messages_.release(*this);
  taking_over_.step([this](LinkId link, Worker worker, const wire::Header& header, Buffer payload) {
    if (replication_.takes(link, worker, header, payload)) return;
    dispatch(link, worker, header, std::move(payload));
  });
  const Time now = clock_.now();
  handing_over_.step(*membership_, van_, now);
  if (pen_.due(now)) pen_.put(shard_metrics(van_, *membership_, slots_, held_, index_), now);
  look_for_stalls(stalls_, slots_, *membership_, announcer_, now);
}

Time Shard::next_due() const {
  return std::min({van_.next_due(), membership_->next_due(), stalls_.next_due(),
                   taking_over_.next_due(), archive_.next_due(clock_.now()),
                   handing_over_.next_due()});
}

// ---- control messages

void Shard::on_control(LinkId link, const control::Message& message) {
  if (membership_->scheduler().is(link)) {
    if (const auto* cut = std::get_if<control::CheckpointCut>(&message)) {
      return van_.send_control(link, archive_.cut(*cut, membership_->number(), slots_));
    }
    if (const auto* no = std::get_if<control::Move>(&message)) return handing_over_.hear(no->why);
    if (!membership_->on_control(link, message)) trace_.on_control(link, message);
    if (control::is<control::Welcome>(message)) tell_scheduler(van_, *membership_, archive_.last());
  } else if (replication_.is_other(link)) {
    replication_.on_control(link, message);
  } else if (held_messages_.takes(link, message)) {
    return;
  } else if (const auto* hello = std::get_if<control::Hello>(&message)) {
    if (hello->role == Role::kServer) return replication_.greet(link, *hello);
    workers_.greet(link, *hello);
  } else if (control::is<control::Leave>(message)) {
    workers_.leave(link);
  } else if (!replication_.serves()) {
    return;  // Other messages are not for standbys.
  } else if (const auto* open = std::get_if<control::Open>(&message)) {
    on_open(link, *open);
  } else if (const auto* request = std::get_if<control::StateRequest>(&message)) {
    on_state_request(link, *request);
  } else if (const auto* taken = std::get_if<control::TakeIn>(&message)) {
    on_take_in(link, *taken);
  } else if (const auto* told = std::get_if<control::Recall>(&message)) {
    if (const auto* worker = workers_.find(link)) taking_over_.hear(worker->node, *told);
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    if (const auto* worker = workers_.find(link)) doom(slots_, announcer_, *fault, worker->number);
  } else if (const auto* said = std::get_if<control::SitOut>(&message)) {
    if (workers_.find(link) != nullptr) on_sit_out(workers_.find(link)->node, *said);
  }
}

// Each contributor reports the join before its first contribution of that step, and after all its
// earlier rounds. So no open round excludes the joining workers, and no finished round should have
// included them.
void Shard::on_take_in(LinkId link, const control::TakeIn& said) {
  if (!membership_->roster()) return;
  if (!workers_.take_in(link, said, *membership_->roster())) return;
  changes_.apply(workers_.group(), {});
  slots_.for_each_part([this](Part& part) { announce(part); });
}

void Shard::on_sit_out(NodeId worker, const control::SitOut& said) {
  sitting_out_.note(worker, said);
  slots_.for_each_part([this](Part& part) {
    sitting_out_.ask(part.key.part, part.spec, part.collector.rounds());
    announce(part);
  });
}

void Shard::follow_roster() {
  if (!membership_->roster()) return;
  const Roster& roster = *membership_->roster();
  const bool first = workers_.group() == nullptr;
  const auto resign = [this](const Status& why) { membership_->resign(why); };
  const Replication::Followed followed = replication_.follow(
      roster, membership_->node(), [this] { return membership_->hello(); }, clock_.now());
  if (!followed.called.ok()) report_other(*membership_, replication_.other(), followed.called);
  const WorkerLinks::Departures gone = workers_.follow(roster, replication_.serves());
  if (followed.promoted) slots_.restore_by(archive_.restorer(resign));
  // Other servers had this rank before, and even they may have had incomplete state.
  const bool comes = followed.promoted || (first && replication_.serves() && roster.epoch > 1);
  if (comes && roster.servers_return()) taking_over_.begin(slots_, followed.lacking);
  if (first) {
    if (Status status = archive_.open(roster.settings); !status.ok()) resign(status);
    held_.resize(roster.workers);
    // The first roster of a fixed-size job names all of its members.
    slots_.begin(
        job_of(roster, workers_, replication_.serves() ? archive_.restorer(resign) : nullptr));
  }
  const bool elastic = roster.settings.elastic();
  // A standby follows the replication stream, which may be ahead of its roster, or behind.
  if (elastic && !replication_.serves()) return;
  if (elastic && followed.promoted) workers_.take_over(makers_in(slots_), roster);
  if (elastic && (followed.promoted || !gone.empty())) changes_.apply(workers_.group(), gone.lost);
  if (gone.empty()) return;
  slots_.for_each_part([&](Part& part) {
    for (const NodeId worker : gone.left) part.collector.rounds().leave(worker);
    announce(part);
  });
}

void Shard::on_broken(LinkId link, const Status& why) {
  if (membership_->on_broken(link, why)) return;
  const std::optional<Member> other = replication_.lose(link);
  const std::optional<WorkerLinks::Worker> lost = workers_.lose(link);
  if (!other && (!lost || workers_.left().contains(lost->node))) return;
  const Member* member = membership_->roster()->find(other ? other->node : lost->node);
  if (member != nullptr) report_link(*membership_, *member, why);  // Else the failure is known.
}

void Shard::on_open(LinkId link, const control::Open& open) {
  if (workers_.group() == nullptr) {
    return van_.links().refuse(link, {Code::kMalformed, "an open came before the roster"});
  }
  const Status status = slots_.open(open.tensor, open.spec, open.first_slot);
  if (status.ok()) return replication_.opened(open);
  if (status.code() != Code::kMismatch) return van_.links().refuse(link, status);
  announcer_.fault(link, {.tensor = open.tensor, .part = 0}, 0, status);
}

void Shard::on_state_request(LinkId link, const control::StateRequest& request) {
  if (van_.queue().waiting(link) > 2 * slots_.parts() + kSpareStates) {
    return van_.links().refuse(link, too_many_answers());
  }
  const Result<OwnedSlots::Place> place =
      slots_.place_of({request.tensor, request.part}, workers_.left());
  if (!place.ok()) return van_.send_control(link, refusal_of(request, place.status()));
  if (request.set.empty()) return van_.send_control(link, answer_to(request, place->part->store));
  if (replication_.takes(*place->part, link, request)) return;
  replication_.changed(*place, link, answer_to(request, place->part->store));
}

// ---- contributions and values

void Shard::on_data(LinkId link, const wire::Header& header, Buffer payload) {
  if (replication_.is_other(link)) return replication_.on_data(link, header, payload);
  if (held_messages_.takes(link, header, payload)) return;
  const WorkerLinks::Worker* worker = workers_.find(link);
  if (worker == nullptr) return;
  // A worker has one operation per part in flight, which bounds its pending answers.
  if (van_.queue().waiting(link) > 2 * slots_.parts() + kSpareAnswers) {
    van_.links().refuse(link, too_many_answers());
  } else if (!taking_over_.takes(link, worker->node, header, payload) &&
             !replication_.takes(link, *worker, header, payload)) {
    dispatch(link, *worker, header, std::move(payload));
  }
}

void Shard::dispatch(LinkId link, Worker worker, const wire::Header& header, Buffer payload) {
  if (header.kind == wire::Kind::kPush) {
    on_push(link, worker, header, std::move(payload));
    replication_.handled(link, header);
  } else if (header.kind == wire::Kind::kPull) {
    on_pull(link, worker, header);
  } else {
    van_.links().refuse(link, {Code::kMalformed, "a server takes pushes and pulls only"});
  }
}

void Shard::on_push(LinkId link, Worker worker, const wire::Header& header, Buffer payload) {
  const auto push = wire::PushFrame::of(header);
  const Result<OwnedSlots::Place> place = slots_.place_of(push.key, workers_.left());
  if (!place.ok()) return announcer_.fault(link, push.key, push.round, place.status());
  Part& part = *place->part;
  if (waits_too_often(part, worker.node)) return van_.links().refuse(link, too_many_waits());
  if (!payload.empty() && push.dtype != part.spec.dtype) {
    const Status status(Code::kMismatch,
                        fmt::format("tensor '{}' is {}, a share of {} came", part.spec.name,
                                    name_of(part.spec.dtype), name_of(push.dtype)));
    return announcer_.disagree(link, push, part, status);
  }
  if (!part.doomed.ok()) return announcer_.fault(link, push.key, push.round, part.doomed);
  replication_.meet(*place);
  const Slot::Verdict verdict =
      place->slot->admit(part, id_of(push, worker.node, part), header.epoch);
  // Slots stay with their owners of the first roster's fence, before which no frame is accepted.
  STRETTO_CHECK(verdict != Slot::Verdict::kMoved);
  if (verdict == Slot::Verdict::kApply) {
    count(link, worker, header, std::move(payload), *place);
  } else {  // It has counted before.
    const bool owed = taking_over_.take_owed(push.key, worker.node, push.round);
    const bool waits = waits_again(part, worker, header, owed, clock_);
    replication_.ack(part, link, header.push_sequence, !waits || !push.wants_value);
    if (waits) announce(part);
  }
}

void Shard::count(LinkId link, Worker worker, const wire::Header& header, Buffer payload,
                  const OwnedSlots::Place& place) {
  Part& part = *place.part;
  Consistency& rounds = part.collector.rounds();
  const auto push = wire::PushFrame::of(header);
  const bool collects = are_collected(part.spec.options.mode, push.assigns);
  const bool opens = !rounds.open();
  const std::size_t bytes = payload.size();
  const Time now = trace_.tracer().now(clock_);
  const Time first = part.waiting.empty() ? now : part.waiting.oldest().since;
  const PushId id = id_of(push, worker.node, part);
  Result<Aggregator::Counted> counted =
      place.slot->count(part, id, share_of(push, id, std::move(payload)));
  if (!counted.ok() && counted.status().code() == Code::kMismatch) {
    return announcer_.disagree(link, push, part, counted.status());
  }
  if (!counted.ok()) return announcer_.fault(link, push.key, push.round, counted.status());
  const bool completed = counted->update.has_value();
  if (completed) replication_.append(place, *std::move(counted->update), push.priority);
  if (part.collector.broadcast().has_made_nothing()) replication_.made_nothing(place);
  STRETTO_CHECK((part.settled() || replication_.replicates()) && part.consistent());
  if (completed && collects && held_.note(worker.number, first, now)) {
    membership_->heartbeats().set_held(worker.number, held_.of(worker.number));
  }
  const bool updates = part.store.has_rule() && completed;
  if (trace_.tracer().on()) note_share(trace_, van_, {header, bytes, updates, now}, clock_);
  if (push.wants_value || collects) {
    part.waiting.add(waiter_of(worker, header, counted->gate, clock_, now));
  }
  replication_.ack(part, link, header.push_sequence, !push.wants_value);
  announce(part);
  ended_waits_.counted(part, completed, first, now, membership_->heartbeats());
  if (opens) sitting_out_.ask(push.key.part, part.spec, rounds);
}

void Shard::on_pull(LinkId link, Worker worker, const wire::Header& header) {
  const auto pull = wire::PullFrame::of(header);
  const Result<OwnedSlots::Place> place = slots_.place_of(pull.key, workers_.left());
  if (!place.ok()) return announcer_.fault(link, pull.key, pull.least_version, place.status());
  Part& part = *place->part;
  if (!part.doomed.ok()) return announcer_.fault(link, pull.key, pull.least_version, part.doomed);
  if (pull.probes) return announcer_.answer_probe(link, worker.node, pull, part);
  if (waits_too_often(part, worker.node)) return van_.links().refuse(link, too_many_waits());
  const std::uint64_t before = part.collector.rounds().rounds_before(worker.node);
  part.waiting.add({.worker = worker.node,
                    .priority = pull.priority,
                    .deadline = deadline_in(header.deadline, clock_),
                    .wants_value = true,
                    .pushed = false,
                    .gate = part.collector.rounds().gate_of_pull(before + pull.least_version),
                    .since = clock_.now()});
  announce(part);
}

void Shard::announce(Part& part) {
  announcer_.tell_ready(part);
  const bool waits = !part.waiting.empty() && part.settled();
  if (waits && !ends_in_vain(part, sitting_out_, announcer_)) announcer_.check_absentee(part);
}

}  // namespace stretto
