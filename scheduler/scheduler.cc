// SPDX-License-Identifier: Apache-2.0
// Converts messages to events, and orders to messages.
#include "scheduler/scheduler.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "common/clock.h"
#include "common/log.h"
#include "scheduler/recovery/replay.h"
#include "scheduler/sessions/join_request.h"
#include "van/control/control_codec.h"
#include "van/control/handshake.h"

namespace stretto {
namespace {

constexpr Duration kJobLookEvery = 100ms;
constexpr Duration kTraceEvery = 20ms;
constexpr std::size_t kSpareAnswers = 4096;  // Beyond one for each tensor: barriers, signs of life.

void sort_by_place(std::vector<Member>& members) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.role, a.rank, a.shard) < std::tie(b.role, b.rank, b.shard);
  });
}

// Sends members a last message, after which their links may end. Members that have just failed get
// the failure instead.
void say_farewell(Van& van, const NodeLinks& links, const View& view,
                  const control::Message& message) {
  const Buffer bytes = control::encode(message);
  for (const auto& [node, member] : view.members) {
    const LinkId link = links.of(node);
    if (link == 0) continue;
    van.send_control(link, bytes);
    van.links().await(link, Return::kUnlessEnded);
  }
}

// A member whose process has died has lost all its links. After the end of its link or a reconnect
// the scheduler waits for the member, unless its launcher reports exits.
void hope_by(const control::LinkReport& report, const ExitNotices* launcher, const Config& config,
             const View& view, Van& van, const NodeLinks& links) {
  const Member* subject = view.find(report.node);
  if (subject == nullptr || subject->left) return;
  const Rank number = subject->number();
  const bool is_launchers = subject->role == Role::kWorker
                                ? number < config.workers + config.restarts
                                : !config.is_guest_server(number);
  if (launcher != nullptr && launcher->told() && is_launchers) return;
  const bool mended = report.state == control::LinkReport::State::kMended;
  van.links().await(links.of(report.node), mended ? Return::kFull : Return::kBrief);
}

void tell_of_all(const View& view, const Config& config) {
  log(Level::kInfo, "all are here: {} workers, {} servers of {} shards{}",
      view.ranks(Role::kWorker), config.servers, config.shards,
      config.job.replicated() ? ", and as many that stand by" : "");
}

// The job continues without them. A member that is still running gets the reason, and exits.
void part_with_lost(const Publish& order, const View& view, Van& van, const NodeLinks& links,
                    JobMonitor& watch) {
  for (const Publish::Loss& loss : order.lost) {
    const Member& lost = *std::ranges::find(order.changed, loss.node, &Member::node);
    const bool server = lost.role == Role::kServer;
    const Status why(server ? Code::kServerLost : Code::kPeerLost,
                     fmt::format("{} is lost: {}", lost.describe(), loss.cause));
    log(Level::kWarning, "{}; {}", why.cause(),
        server ? successor_of(lost, view)
               : fmt::format("the job goes on with {} workers", view.ranks(Role::kWorker)));
    watch.lost(lost);
    const LinkId link = links.of(loss.node);
    if (link != 0) van.links().refuse(link, Status(why).with_peer(lost.describe()));
  }
}

Suspicion suspicion_of(const Member& reporter, const control::LinkReport& report) {
  return {.reporter = reporter.node, .subject = report.node, .cause = report.cause};
}

// A member that has yet to re-register has no link whose end would follow.
ViewEvent loss_by_silence(NodeId node, Duration lasts, const NodeLinks& links) {
  std::string cause =
      fmt::format("nothing heard of it for {:.1f} s on its link to the scheduler", seconds(lasts));
  if (links.is_expected(node)) return Disconnected{.node = node, .cause = std::move(cause)};
  return Lost{.node = node, .cause = std::move(cause)};
}

// The member's earlier process has failed, though the scheduler may not know yet.
bool comes_for_itself(const Join& join, const View& view, const Config& config) {
  const Member* former = view.find(join.former);
  return config.job.elastic() && former != nullptr && former->role == Role::kWorker &&
         !former->left;
}

LinkTable::NameOf names_in(const ViewMachine& machine) {
  return [&machine](NodeId node) {
    const Member* member = machine.next_view().find(node);
    return member == nullptr ? std::string() : member->describe();
  };
}

void refuse(Van& van, JoinQueue& waiting, LoggedCount& refused, LinkId link, const Status& why) {
  if (refused.add()) {
    log(Level::kWarning, "refused: {}; {} hellos so far", why.cause(), refused.events());
  }
  waiting.remove(link);
  van.links().refuse(link, why);
}

// All arguments outlive the result.
CheckpointKeeper::Ways ways_of_checkpoints(Van& van, const NodeLinks& links,
                                           const ViewMachine& machine, Coordination& agreements,
                                           JobMonitor& watch, MembershipJournal& chronicle) {
  return {.tell = [&van, &links](
                      NodeId node,
                      const control::CheckpointCut& cut) { van.send_control(links.of(node), cut); },
          .open = [&agreements](const control::Barrier& barrier) { agreements.open(barrier); },
          .tell_workers =
              [&van, &links, &machine](const control::CheckpointEnded& ended) {
                for (const auto& [node, member] : machine.next_view().members) {
                  const bool is_worker = member.role == Role::kWorker && !member.left;
                  if (is_worker) van.send_control(links.of(node), ended);
                }
              },
          .workers =
              [&machine, &links] {
                const std::set<NodeId>& nodes = machine.next_view().contributors.nodes;
                const bool runs = machine.phase() == ViewMachine::Phase::kRunning;
                // A member yet to re-register would miss the query, and block the other workers.
                return runs && links.expected() == 0
                           ? std::vector<NodeId>(nodes.begin(), nodes.end())
                           : std::vector<NodeId>();
              },
          .ask = [&van, &links](
                     NodeId node,
                     const control::AtStep& said) { van.send_control(links.of(node), said); },
          .tell_worker =
              [&van, &links](NodeId node, const control::CheckpointEnded& ended) {
                van.send_control(links.of(node), ended);
              },
          .cut = [&chronicle](const control::Barrier& barrier,
                              const control::CheckpointCut& cut) { chronicle.cut(barrier, cut); },
          .dropped = [&chronicle](std::uint64_t attempt) { chronicle.dropped(attempt); },
          .saved =
              [&watch, &chronicle](std::uint64_t number, std::uint64_t step) {
                chronicle.saved(number, step);
                watch.on_saved({.number = number, .step = step});
              },
          .tensors = [&agreements] { return agreements.registry().specs(); }};
}

CheckpointKeeper::Job job_of(const View& view, std::uint64_t id, CheckpointCall call) {
  return {
      .id = id, .shards = shards_of(view), .workers = std::move(call.workers), .alike = call.alike};
}

Coordination::Late late_ways(CheckpointKeeper& checkpoints) {
  return {
      .cut = [&checkpoints](NodeId worker,
                            std::uint64_t attempt) { checkpoints.tell_cut(worker, attempt); },
      .ended = [&checkpoints](NodeId worker,
                              std::uint64_t attempt) { checkpoints.tell_ended(worker, attempt); }};
}

std::uint64_t number_of(const RecoveredState& past, const Clock& clock) {
  const auto now = static_cast<std::uint64_t>(clock.now().time_since_epoch().count());
  return past.job == 0 ? now : past.job;
}

}  // namespace

Scheduler::Scheduler(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock,
                     ExitNotices* ends, const CheckpointKeeper::Files& files, RecoveredState past)
    : config_(config),
      clock_(clock),
      ends_(ends),
      van_(std::move(transport), clock,
           {.limits = limits_for(config), .checksums = config.checksums, .assembles = false}),
      job_(number_of(past, clock)),
      next_look_(clock.now()),
      machine_(config, clock.now(), config.job.elastic() ? Sizing::kWorkers : Sizing::kFixed),
      chronicle_(std::move(past.journal)),
      agreements_(
          config, clock, van_, links_, machine_, chronicle_,
          [this](const control::Barrier& all, CheckpointCall call) {
            const std::uint64_t step = call.step;
            checkpoints_.begin(all, step, job_of(machine_.next_view(), job_, std::move(call)));
          },
          [this](std::uint64_t barrier) { checkpoints_.withdraw(barrier); }),
      checkpoints_(config, clock, files,
                   ways_of_checkpoints(van_, links_, machine_, agreements_, watch_, chronicle_)),
      watch_(config),
      moves_(config, clock, van_, links_, machine_, chronicle_, watch_, ends),
      onlookers_({config, clock, van_, links_, machine_, chronicle_, agreements_, watch_, moves_}),
      waiting_(2 * config.job.dead_after),
      missing_(config, clock.now()),
      comebacks_(config, clock, van_, links_, machine_, chronicle_, watch_) {
  agreements_.set_restored(files.restored);
  agreements_.set_late(late_ways(checkpoints_));
  if (past.job == 0) chronicle_.begin(job_, config, files.restored);
  van_.set_node(kSchedulerNode);
  van_.links().set_names(names_in(machine_));
  van_.set_dead_after(config.job.dead_after);
}

Status Scheduler::recover(const std::vector<JournalRecord>& records) {
  const ReplayTarget to{.machine = machine_,
                        .chronicle = chronicle_,
                        .agreements = agreements_,
                        .checkpoints = checkpoints_,
                        .watch = watch_};
  Status status = replay(records, config_.scheduler_return.life, to, clock_.now());
  if (!status.ok()) return status;
  van_.set_epoch(view().epoch, view().fence);
  watch_.set_members(members_of(machine_));
  comebacks_.begin();
  return {};
}

// No node may learn of unrecorded decisions. If recording fails, tells all of the risk.
void Scheduler::before_sending() {
  const bool newly_lost = chronicle_.commit();
  if (newly_lost && machine_.phase() == ViewMachine::Phase::kRunning) happened(Republish{});
}

Result<std::string> Scheduler::listen(std::string_view address) { return van_.listen(address); }

void Scheduler::step(Duration wait) {
  // Before a replacement of an exited process joins.
  if (ends_ != nullptr) {
    const std::vector<MemberExit> ends = missing_.note_ends(moves_.note_ends(ends_->take()));
    missing_.await_again(ends, machine_, watch_,
                         [this](const Disconnected& gone) { happened(gone); });
    replacements_.end(ends, machine_, watch_, [this](const Lost& lost) { happened(lost); });
    for (const NodeId node : comebacks_.end_with(ends)) {
      happened(Disconnected{.node = node, .cause = "its process has ended"});
      links_.forget(node);
    }
  }
  van_.step(*this, wait);
  happened(EndOfTurn{});
  tick();
  happened(EndOfTurn{});
  before_sending();
}

Time Scheduler::next_due() const {
  const Time decision = wakefulness_.catches_up(clock_.now()) ? next_look_ : machine_.next_due();
  const Time due = std::min({van_.next_due(), next_look_, decision, moves_.next_due(),
                             checkpoints_.next_due(clock_.now())});
  return watch_.trace().active() ? std::min(due, clock_.now() + kTraceEvery) : due;
}

JobFormation gathering_of(const ViewMachine& machine) {
  if (machine.view().epoch != 0) return JobFormation::kComplete;
  return machine.admission().has_worker() ? JobFormation::kAwaited : JobFormation::kUnawaited;
}

// ---- messages of nodes

void Scheduler::on_control(LinkId link, const control::Message& message) {
  if (const auto* hello = std::get_if<control::Hello>(&message)) {
    const control::Hello known = comebacks_.recognized(*hello, job_);
    if (known.job == 0) return on_hello(link, *hello);
    const Status status = comebacks_.take(link, known, job_);
    return status.ok() ? checkpoints_.tell_cut(known.node, 0)
                       : refuse(van_, waiting_, refused_, link, status);
  }
  if (onlookers_.has(link)) return onlookers_.hear(link, message);
  const Time now = clock_.now();
  const Member* known = machine_.next_view().find(links_.heard(link, now));
  if (known == nullptr) return;
  if (van_.queue().waiting(link) > agreements_.registry().size() + kSpareAnswers) {
    van_.links().refuse(link,
                        {Code::kResource, "too many answers wait: this node does not read them"});
    return;
  }
  const Member member = *known;
  if (const auto* beat = std::get_if<control::Heartbeat>(&message)) {
    watch_.heard(member, *beat, now);
    comebacks_.heard(member.node);
    happened(Alive{member.node});
    // A member that leaves would not read an answer.
    const bool goes = member.left || machine_.phase() > ViewMachine::Phase::kRunning;
    return goes ? void() : van_.send_control(link, watch_.answer(member, *beat));
  }
  if (const auto* chunk = std::get_if<control::TraceChunk>(&message)) {
    watch_.trace().on_chunk(member.node, *chunk, now);
    return onlookers_.go_on_tracing();
  }
  if (control::is<control::Leave>(message) && machine_.phase() != ViewMachine::Phase::kFailing) {
    van_.send_control(link, control::Leave{});
    van_.links().await(link, Return::kUnlessEnded);
    if (!member.left) {
      watch_.left(member);
      chronicle_.opened(agreements_.opened());  // A leaving worker will not report it.
    }
    happened(Left{.node = member.node});
  }
  if (const auto* told = std::get_if<control::AtStep>(&message)) {
    if (told->checkpoint) return checkpoints_.on_told(member.node, *told);
    return happened(StepReport{.node = member.node, .question = told->number, .step = told->step});
  }
  if (const auto* failure = std::get_if<control::Failure>(&message)) {
    return happened(Lost{.node = member.node, .cause = failure->why.cause()});
  }
  if (machine_.phase() != ViewMachine::Phase::kRunning) return;
  if (member.role == Role::kWorker) {
    const auto* declare = std::get_if<control::Declare>(&message);
    const auto* barrier = std::get_if<control::Barrier>(&message);
    if (declare != nullptr) agreements_.on_declare(member, *declare);
    if (barrier && barrier->opened) checkpoints_.skip_attempts(barrier->checkpoint);
    if (barrier != nullptr) agreements_.on_barrier(member, *barrier);
  }
  if (const auto* ready = std::get_if<control::StandbyReady>(&message)) {
    const auto caught = caught_by(member, ready->node, machine_.next_view());
    if (caught && config_.job.replicated()) tell_of_standby(*caught, view());
    if (caught) happened(*caught);
  }
  if (control::is<control::Move>(message) && !moves_.ask_for(member, link)) {
    happened(Disconnected{.node = member.node, .cause = "it was asked to end before it had all"});
  }
  checkpoints_.hear(member, message);
  const auto* report = std::get_if<control::LinkReport>(&message);
  if (report == nullptr) return;
  hope_by(*report, ends_, config_, machine_.next_view(), van_, links_);
  if (report->state != control::LinkReport::State::kBroken) return;
  if (const auto suspicion = comebacks_.weigh(suspicion_of(member, *report))) happened(*suspicion);
}

void Scheduler::on_data(LinkId link, const wire::Header&, Buffer) {
  van_.links().refuse(link, {Code::kMalformed, "the scheduler takes no data frames"});
}

// ---- observers

Status Scheduler::start_trace(std::uint32_t iterations, std::uint32_t seconds) {
  return watch_.trace().start(members_of(machine_), iterations, seconds, clock_.now());
}

std::map<std::uint32_t, std::string> Scheduler::tensor_names() const {
  std::map<std::uint32_t, std::string> names;
  for (auto& [id, name] : agreements_.registry().names(0, kMaxTensors)) names.emplace(id, name);
  return names;
}

// ---- members

void Scheduler::on_hello(LinkId link, const control::Hello& hello) {
  if (hello.role == Role::kObserver) return onlookers_.greet(link, hello);
  const Time now = clock_.now();
  const Result<Join> join = moves_.wanted(join_from(hello, config_.token));
  if (join.ok() && comes_for_itself(*join, machine_.next_view(), config_)) {
    happened(Lost{.node = join->former, .cause = "its process has come to the job again"});
  }
  if (const NodeId before = join.ok() ? comebacks_.forgotten(*join) : 0; before != 0) {
    happened(Disconnected{.node = before, .cause = "its process comes anew"});
    links_.forget(before);
  }
  const std::vector<ViewOrder> orders = join.ok() ? chronicle_.on(machine_, *join, now)
                                                  : std::vector<ViewOrder>{Refuse{join.status()}};
  for (const ViewOrder& order : orders) {
    if (const auto* no = std::get_if<Refuse>(&order)) {
      refuse(van_, waiting_, refused_, link, no->why);
      if (join.ok()) moves_.turned_away(*join);
    } else if (const auto* later = std::get_if<Defer>(&order)) {
      if (!waiting_.wait(link, hello, now)) refuse(van_, waiting_, refused_, link, later->why);
    } else if (const auto* admit = std::get_if<Admit>(&order)) {
      waiting_.remove(link);
      const Member& member = admit->member;
      links_.add(member.node, link, now);
      van_.links().admit(link, member.node);
      const bool runs = machine_.phase() == ViewMachine::Phase::kRunning && view().epoch != 0;
      van_.links().await(link, runs ? Return::kFull : Return::kNone);
      const control::Welcome welcome{.node = member.node,
                                     .rank = member.rank,
                                     .job = job_,
                                     .life = config_.scheduler_return.life};
      van_.send_control(link, welcome);
      log(Level::kDebug, "{} came from {}", member.describe(), hello.host);
      if (watch_.comes_again(member)) {
        log(Level::kInfo, "{} comes to the job again", member.describe());
      }
    } else if (const auto* news = std::get_if<Publish>(&order); news && news->since != 0) {
      watch_.set_members(members_of(machine_));
      publish(*news);
    } else if (const auto* first = std::get_if<Publish>(&order)) {
      watch_.set_members(members_of(machine_));
      for (const LinkId each : links_.all()) van_.links().await(each, Return::kFull);
      tell_of_all(view(), config_);
      publish(*first);
    }
  }
}

void Scheduler::on_broken(LinkId link, const Status& why) {
  onlookers_.remove(link);
  waiting_.remove(link);
  const NodeId node = links_.remove(link);
  if (node == 0) return;
  // A worker that has left an elastic job is in no view, and the job's end awaits its link.
  const Member* member = machine_.next_view().find(node);
  if (member != nullptr && machine_.phase() == ViewMachine::Phase::kGathering) {
    log(Level::kWarning, "{} went away before the job began: {}", member->describe(), why.cause());
  }
  happened(Disconnected{.node = node, .cause = why.cause()});
}

// ---- orders of the machine

void Scheduler::happened(const ViewEvent& event) {
  for (const ViewOrder& order : chronicle_.on(machine_, event, clock_.now())) {
    if (const auto* news = std::get_if<Publish>(&order)) publish(*news);
    if (const auto* ask = std::get_if<QuerySteps>(&order)) {
      for (const NodeId node : machine_.next_view().contributors.nodes) {
        van_.send_control(links_.of(node), control::AtStep{.number = ask->question});
      }
    }
    const View& view = machine_.next_view();
    if (std::holds_alternative<DismissMembers>(order))
      say_farewell(van_, links_, view, control::Leave{});
    if (const auto* end = std::get_if<EndJob>(&order))
      say_farewell(van_, links_, view, control::Failure{end->why});
  }
}

// Sends the view to all current members.
void Scheduler::publish(const Publish& order) {
  const View& view = machine_.view();
  Roster roster = comebacks_.head();
  roster.since = order.since;
  roster.members = order.changed;
  sort_by_place(roster.members);
  const Buffer message = control::encode(roster);
  if (message.size() > wire::kMaxControlBytes) {
    return stop({Code::kResource,
                 fmt::format("the list of {} nodes and their addresses has {} bytes, and at most "
                             "{} can be sent: start fewer servers, with fewer shards, or give them "
                             "shorter host names (STRETTO_NODE_HOST)",
                             roster.members.size(), message.size(), wire::kMaxControlBytes)});
  }
  van_.set_epoch(view.epoch, view.fence);
  for (const auto& [node, member] : view.members) {
    const bool knows = std::ranges::find(order.fresh, node) == order.fresh.end();
    if (!member.left && knows) van_.send_control(links_.of(node), message);
  }
  if (!order.fresh.empty()) {
    roster.since = 0;
    roster.members = members_of(machine_);
    for (const NodeId node : order.fresh) van_.send_control(links_.of(node), roster);
  }
  for (const Member& member : order.changed) {
    if (member.left) checkpoints_.on_lost(member.node);
  }
  moves_.part_with_moved(order);
  const bool elastic = config_.job.elastic();
  if (elastic) agreements_.follow_members();
  if (elastic || config_.job.servers_replaced()) watch_.set_members(members_of(machine_));
  part_with_lost(order, view, van_, links_, watch_);
  for (const Member& member : order.changed) {
    if (!elastic && member.left && member.role == Role::kWorker) agreements_.left(member);
  }
}

// ---- time

void Scheduler::tick() {
  const Time now = clock_.now();
  comebacks_.tick();
  moves_.tick();
  checkpoints_.tick(ends_ != nullptr && ends_->take_wish());
  const bool looks = now >= next_look_;
  if (looks) {
    next_look_ = now + kJobLookEvery;
    if (wakefulness_.slept(now)) links_.forgive(now);
    if (machine_.phase() == ViewMachine::Phase::kRunning) {
      watch_.look(now);
      for (const auto& [node, lasts] : links_.silent(now, config_.job.dead_after)) {
        happened(loss_by_silence(node, lasts, links_));
        links_.forget(node);
      }
      for (const Suspicion& each : comebacks_.take_weighed()) happened(each);
    }
  }
  if (watch_.trace().active()) onlookers_.go_on_tracing();
  const bool decides = looks || now >= machine_.next_due();
  if (decides && !wakefulness_.catches_up(now)) happened(missing_.look(machine_, ends_, now));
  if (std::exchange(waited_in_, view().epoch) == view().epoch && !looks) return;
  for (const JoinQueue::Guest& guest : std::vector(waiting_.guests()))
    on_hello(guest.link, guest.hello);
}

}  // namespace stretto
