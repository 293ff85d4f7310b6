// SPDX-License-Identifier: Apache-2.0
// Messages become events, and orders become messages.
#include "scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/clock.h"
#include "common/log.h"
#include "scheduler/hello.h"
#include "van/control_codec.h"
#include "van/greeting.h"

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

// In the order of their places; nobody before the first view.
std::vector<Member> members_of(const ViewMachine& machine) {
  std::vector<Member> members;
  if (machine.view().epoch == 0) return members;
  for (const auto& [node, member] : machine.next_view().members) members.push_back(member);
  sort_by_place(members);
  return members;
}

// To all who are in: after that they go, and their links with them. Who has just been lost hears
// that instead.
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

// Their links end with them, or have. Not more than that follows: a command's process may have
// ended and left the member behind.
void end_with_processes(Van& van, const NodeLinks& links, const View& view,
                        const std::vector<MemberEnd>& ends) {
  for (const MemberEnd& end : ends) {
    for (const auto& [node, member] : view.members) {
      if (member.role != end.role || member.number() != end.rank) continue;
      van.links().await(links.of(node), Return::kNone);
    }
  }
}

// A member whose process has died has lost all its links. One whose link to here has ended, and of
// which nobody says so, is waited for; as is one that has made another one anew. Where a launcher
// tells of the deaths of those that it has started nobody need guess: workers below `known`, and
// all servers then.
void hope_by(const control::LinkReport& report, Rank known, const View& view, Van& van,
             const NodeLinks& links) {
  const Member* subject = view.find(report.node);
  if (subject == nullptr || subject->left) return;
  const bool worker = subject->role == Role::kWorker;
  if (worker ? subject->number() < known : known > 0) return;
  const bool mended = report.state == control::LinkReport::State::kMended;
  van.links().await(links.of(report.node), mended ? Return::kFull : Return::kBrief);
}

std::string successor_of(const Member& lost, const View& view) {
  for (const auto& [node, member] : view.members) {
    const bool has_it = member.role == Role::kServer && member.rank == lost.rank &&
                        member.shard == lost.shard && !member.standby && !member.left;
    if (!has_it) continue;
    return lost.standby ? fmt::format("nobody stands by for {} now", member.describe())
                        : fmt::format("{}, which stood by, has its place", member.describe());
  }
  return "another is awaited in its place";
}

// Others go on without them. One that still lives hears why, and that ends it.
void part_with_lost(const Publish& order, const View& view, Van& van, const NodeLinks& links,
                    JobWatch& watch) {
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

// It was lost, though nobody here may have seen that yet.
bool comes_for_itself(const Join& join, const View& view, const Config& config) {
  const Member* former = view.find(join.former);
  return config.job.elastic() && former != nullptr && former->role == Role::kWorker &&
         !former->left;
}

void refuse_entry(Van& van, WaitingRoom& waiting, LinkId link, const Status& why) {
  log(Level::kWarning, "refused: {}", why.cause());
  waiting.remove(link);
  van.links().refuse(link, why);
}

// All outlive what is returned.
CheckpointKeeper::Ways ways_of_checkpoints(Van& van, const NodeLinks& links,
                                           const ViewMachine& machine, Agreements& agreements,
                                           JobWatch& watch) {
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
              [&machine] {
                const std::set<NodeId>& nodes = machine.next_view().contributors.nodes;
                const bool runs = machine.phase() == ViewMachine::Phase::kRunning;
                return runs ? std::vector<NodeId>(nodes.begin(), nodes.end())
                            : std::vector<NodeId>();
              },
          .ask = [&van, &links](
                     NodeId node,
                     const control::AtStep& said) { van.send_control(links.of(node), said); },
          .saved = [&watch](std::uint64_t step) { watch.on_saved(step); },
          .tensors = [&agreements] { return agreements.registry().specs(); }};
}

CheckpointKeeper::Job job_of(const View& view, Time began, CheckpointCall call) {
  CheckpointKeeper::Job job{.id = static_cast<std::uint64_t>(began.time_since_epoch().count()),
                            .shards = {},
                            .workers = std::move(call.workers),
                            .alike = call.alike};
  for (const auto& [node, member] : view.members) {
    const bool serves = member.role == Role::kServer && !member.left && !member.standby;
    if (serves) job.shards.insert(node);
  }
  return job;
}

}  // namespace

Scheduler::Scheduler(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock,
                     ProcessEnds* ends, const CheckpointKeeper::Files& files)
    : config_(config),
      clock_(clock),
      ends_(ends),
      van_(std::move(transport), clock,
           {.limits = limits_for(config), .checksums = config.checksums}),
      began_(clock.now()),
      next_look_(clock.now()),
      machine_(config, clock.now(), config.job.elastic() ? Sizing::kWorkers : Sizing::kFixed),
      agreements_(
          config, clock, van_, links_, machine_,
          [this](const control::Barrier& all, CheckpointCall call) {
            const std::uint64_t step = call.step;
            checkpoints_.begin(all, step, job_of(machine_.next_view(), began_, std::move(call)));
          },
          [this](std::uint64_t barrier) { checkpoints_.withdraw(barrier); }),
      checkpoints_(config, clock, files,
                   ways_of_checkpoints(van_, links_, machine_, agreements_, watch_)),
      watch_(config),
      waiting_(2 * config.job.dead_after) {
  agreements_.set_restored(files.restored);
  van_.set_node(kSchedulerNode);
  van_.set_dead_after(config.job.dead_after);
}

Result<std::string> Scheduler::listen(std::string_view address) { return van_.listen(address); }

void Scheduler::step(Duration wait) {
  // Before anybody comes in the place of one whose process has ended.
  if (ends_ != nullptr) end_with_processes(van_, links_, machine_.next_view(), ends_->take());
  van_.step(*this, wait);
  happened(TurnOver{});
  tick();
  happened(TurnOver{});
}

Time Scheduler::next_due() const {
  const Time due = std::min(
      {van_.next_due(), next_look_, machine_.next_due(), checkpoints_.next_due(clock_.now())});
  return watch_.trace().active() ? std::min(due, clock_.now() + kTraceEvery) : due;
}

std::string_view Scheduler::phase() const {
  constexpr std::string_view kNames[] = {"gathering", "running", "dispersing", "failing", "over"};
  return kNames[static_cast<std::size_t>(machine_.phase())];
}

Gathering Scheduler::gathering() const {
  if (view().epoch != 0) return Gathering::kComplete;
  return machine_.admission().has_worker() ? Gathering::kAwaited : Gathering::kUnawaited;
}

// ---- what nodes say

void Scheduler::on_control(LinkId link, const control::Message& message) {
  if (const auto* hello = std::get_if<control::Hello>(&message)) return on_hello(link, *hello);
  if (observers_.has(link)) return observe(link, message);
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
    happened(Alive{member.node});
    // After a farewell nothing is said that would not be heard any more.
    const bool goes = member.left || machine_.phase() > ViewMachine::Phase::kRunning;
    return goes ? void() : van_.send_control(link, watch_.answer(member, *beat));
  }
  if (const auto* chunk = std::get_if<control::TraceChunk>(&message)) {
    watch_.trace().on_chunk(member.node, *chunk, now);
    return go_on_tracing();
  }
  if (control::is<control::Leave>(message) && machine_.phase() != ViewMachine::Phase::kFailing) {
    van_.send_control(link, control::Leave{});
    van_.links().await(link, Return::kUnlessEnded);
    if (!member.left) watch_.left(member);
    happened(Left{.node = member.node});
  }
  if (const auto* told = std::get_if<control::AtStep>(&message)) {
    if (told->checkpoint) return checkpoints_.on_told(member.node, *told);
    return happened(StepTold{.node = member.node, .question = told->number, .step = told->step});
  }
  if (const auto* failure = std::get_if<control::Failure>(&message)) {
    return happened(Lost{.node = member.node, .cause = failure->why.cause()});
  }
  if (machine_.phase() != ViewMachine::Phase::kRunning) return;
  if (member.role == Role::kWorker) {
    const auto* declare = std::get_if<control::Declare>(&message);
    const auto* barrier = std::get_if<control::Barrier>(&message);
    if (declare != nullptr) agreements_.on_declare(member, *declare);
    if (barrier != nullptr) agreements_.on_barrier(member, *barrier);
  }
  if (const auto* ready = std::get_if<control::StandbyReady>(&message)) {
    happened(Caught{.server = member.node, .standby = ready->node});
  }
  const auto* cut = std::get_if<control::CheckpointCut>(&message);
  const auto* saved = std::get_if<control::CheckpointSaved>(&message);
  if (cut != nullptr && member.role == Role::kServer) checkpoints_.on_cut(member.node, *cut);
  if (saved != nullptr) checkpoints_.on_saved(member.node, *saved);
  const auto* report = std::get_if<control::LinkReport>(&message);
  if (report == nullptr) return;
  const bool told = ends_ != nullptr && ends_->told();
  const Rank started = told ? config_.workers + config_.restarts : 0;
  hope_by(*report, started, machine_.next_view(), van_, links_);
  if (report->state == control::LinkReport::State::kBroken) {
    happened(Suspicion{.reporter = member.node, .subject = report->node, .cause = report->cause});
  }
}

void Scheduler::on_data(LinkId link, const wire::Header&, Buffer) {
  van_.links().refuse(link, {Code::kMalformed, "the scheduler takes no data frames"});
}

// ---- those who look on

void Scheduler::on_observer(LinkId link, const control::Hello& hello) {
  Status status = check_greeting(hello, config_.token);
  if (status.ok()) status = observers_.add(link);
  if (!status.ok()) {
    van_.links().refuse(link, status);
    return;
  }
  const NodeId identity = machine_.identity();
  van_.links().admit(link, identity, Stay::kVisits);
  van_.send_control(link, control::Welcome{.node = identity});
}

void Scheduler::observe(LinkId link, const control::Message& message) {
  const auto* question = std::get_if<control::Observe>(&message);
  if (question == nullptr || van_.queue().waiting(link) > Observers::kMostUnread) {
    observers_.remove(link);
    van_.links().refuse(link, {Code::kMalformed, "a tool asks, and reads its answers"});
    return;
  }
  van_.send_control(link, Observers::answer(*question,
                                            {.snapshot = watch_.snapshot(),
                                             .registry = agreements_.registry(),
                                             .trace = watch_.trace(),
                                             .stacks = watch_.stacks(),
                                             .phase = phase(),
                                             .members = members_of(machine_)},
                                            clock_.now()));
  go_on_tracing();
}

Status Scheduler::start_trace(std::uint32_t iterations, std::uint32_t seconds) {
  return watch_.trace().start(members_of(machine_), iterations, seconds, clock_.now());
}

std::map<std::uint32_t, std::string> Scheduler::tensor_names() const {
  std::map<std::uint32_t, std::string> names;
  for (auto& [id, name] : agreements_.registry().names(0, kMaxTensors)) names.emplace(id, name);
  return names;
}

// Says to nodes what their trace wants of them now.
void Scheduler::go_on_tracing() {
  for (const TraceSession::Order& order : watch_.trace().due(clock_.now())) {
    const LinkId link = links_.of(order.node);
    if (link == 0) {
      watch_.trace().gone(order.node);
      continue;
    }
    van_.send_control(link, order.command);
  }
}

// ---- members

void Scheduler::on_hello(LinkId link, const control::Hello& hello) {
  if (hello.role == Role::kObserver) return on_observer(link, hello);
  const Time now = clock_.now();
  const Result<Join> join = join_from(hello, config_.token);
  if (join.ok() && comes_for_itself(*join, machine_.next_view(), config_)) {
    happened(Lost{.node = join->former, .cause = "its process has come to the job again"});
  }
  const std::vector<ViewOrder> orders =
      join.ok() ? machine_.on(*join, now) : std::vector<ViewOrder>{Refuse{join.status()}};
  for (const ViewOrder& order : orders) {
    if (const auto* no = std::get_if<Refuse>(&order)) {
      refuse_entry(van_, waiting_, link, no->why);
    } else if (const auto* later = std::get_if<Defer>(&order)) {
      if (!waiting_.wait(link, hello, now)) refuse_entry(van_, waiting_, link, later->why);
    } else if (const auto* admit = std::get_if<Admit>(&order)) {
      waiting_.remove(link);
      const Member& member = admit->member;
      links_.add(member.node, link, now);
      van_.links().admit(link, member.node);
      const bool runs = machine_.phase() == ViewMachine::Phase::kRunning && view().epoch != 0;
      van_.links().await(link, runs ? Return::kFull : Return::kNone);
      const control::Welcome welcome{
          .node = member.node,
          .rank = member.rank,
          .job = static_cast<std::uint64_t>(began_.time_since_epoch().count())};
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
      log(Level::kInfo, "all are here: {} workers, {} servers of {} shards",
          view().ranks(Role::kWorker), config_.servers, config_.shards);
      publish(*first);
    }
  }
}

void Scheduler::on_broken(LinkId link, const Status& why) {
  observers_.remove(link);
  waiting_.remove(link);
  const NodeId node = links_.remove(link);
  const Member* member = machine_.next_view().find(node);
  if (member == nullptr) return;
  if (machine_.phase() == ViewMachine::Phase::kGathering) {
    log(Level::kWarning, "{} went away before the job began: {}", member->describe(), why.cause());
  }
  happened(Gone{.node = node, .cause = why.cause()});
}

// ---- what the machine orders

void Scheduler::happened(const ViewEvent& event) {
  for (const ViewOrder& order : machine_.on(event, clock_.now())) {
    if (const auto* news = std::get_if<Publish>(&order)) publish(*news);
    if (const auto* ask = std::get_if<AskSteps>(&order)) {
      for (const NodeId node : machine_.next_view().contributors.nodes) {
        van_.send_control(links_.of(node), control::AtStep{.number = ask->question});
      }
    }
    const View& view = machine_.next_view();
    if (std::holds_alternative<Disperse>(order)) say_farewell(van_, links_, view, control::Leave{});
    if (const auto* end = std::get_if<EndJob>(&order))
      say_farewell(van_, links_, view, control::Failure{end->why});
  }
}

// To all who are still in.
void Scheduler::publish(const Publish& order) {
  const View& view = machine_.view();
  Roster roster{.epoch = view.epoch,
                .fence = view.fence,
                .workers = view.ranks(Role::kWorker),
                .servers = config_.servers,
                .slots = view.slots.size(),
                .since = order.since,
                .question = view.question,
                .step = view.step,
                .members = order.changed,
                .settings = config_.job};
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
  if (config_.job.elastic()) {
    agreements_.follow_members();
    watch_.set_members(members_of(machine_));
    part_with_lost(order, view, van_, links_, watch_);
    return;
  }
  if (config_.job.replicated()) watch_.set_members(members_of(machine_));
  part_with_lost(order, view, van_, links_, watch_);
  for (const Member& member : order.changed) {
    if (member.left && member.role == Role::kWorker) agreements_.left(member);
  }
}

// ---- time

void Scheduler::tick() {
  const Time now = clock_.now();
  checkpoints_.tick();
  const bool looks = now >= next_look_;
  if (looks) {
    next_look_ = now + kJobLookEvery;
    if (wakefulness_.slept(now)) links_.forgive(now);
    if (machine_.phase() == ViewMachine::Phase::kRunning) {
      watch_.look(now);
      for (const auto& [node, lasts] : links_.silent(now, config_.job.dead_after)) {
        happened(Lost{
            .node = node,
            .cause = fmt::format("nothing heard of it for {:.1f} s on its link to the scheduler",
                                 seconds(lasts))});
      }
    }
  }
  if (watch_.trace().active()) go_on_tracing();
  if (looks || now >= machine_.next_due()) happened(TimeOut{});
  if (!looks && waited_in_ == view().epoch) return;
  waited_in_ = view().epoch;
  const std::vector<WaitingRoom::Guest> guests = waiting_.guests();
  for (const WaitingRoom::Guest& guest : guests) on_hello(guest.link, guest.hello);
}

}  // namespace stretto
