// SPDX-License-Identifier: Apache-2.0
// The states of a membership, and their transitions.
#include "van/membership/membership_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "common/log.h"
#include "common/network/machine.h"
#include "core/fault_window.h"
#include "van/control/handshake.h"

namespace stretto {
namespace {

constexpr Duration kLeavePatience = 5s;
constexpr Duration kFarewell = 500ms;  // How long a resignation waits for its ack.

bool have_one_place(const Member& a, const Member& b) {
  return a.role == b.role && a.number() == b.number();
}

// True if each of `some` is in `all`, with the same rank. Members that have left may be missing.
bool are_among(const std::vector<Member>& some, const std::vector<Member>& all) {
  std::unordered_map<NodeId, const Member*> known;
  for (const Member& member : all) known.emplace(member.node, &member);
  return std::all_of(some.begin(), some.end(), [&known](const Member& member) {
    const auto found = known.find(member.node);
    return found == known.end() ? member.left : have_one_place(*found->second, member);
  });
}

// The first roster fixes sizes and ranks: later rosters, complete or incremental, report
// departures. A raised fence stays.
bool follows(const Roster& before, const Roster& after) {
  const bool elastic = before.settings.elastic();
  if ((after.workers != before.workers && !elastic) || after.settings.elastic() != elastic ||
      after.servers != before.servers || after.slots != before.slots ||
      after.settings.part_bytes != before.settings.part_bytes || after.since > before.epoch ||
      after.fence < before.fence) {
    return false;
  }
  if (after.since == 0) return are_among(before.members, after.members);
  // A short list: the members of one iteration of the scheduler's loop.
  return std::all_of(after.members.begin(), after.members.end(), [&](const Member& member) {
    const Member* known = before.find(member.node);
    const bool comes = elastic && member.joining && member.role == Role::kWorker;
    const bool replaces = after.settings.servers_replaced() && member.role == Role::kServer;
    return known == nullptr ? comes || replaces : have_one_place(*known, member);
  });
}

Status check(const Roster& roster, const std::optional<Roster>& before, std::uint64_t part_bytes) {
  if (before ? !follows(*before, roster) : roster.since != 0) {
    return {Code::kMalformed, "a roster came that contradicts the one before"};
  }
  if (roster.settings.part_bytes <= part_bytes) return {};
  return Status(Code::kMismatch,
                fmt::format("the job's parts have up to {} bytes, this process was told of {}: "
                            "give every process the same STRETTO_PART_BYTES",
                            roster.settings.part_bytes, part_bytes))
      .with_operation("join");
}

// Merges two consecutive rosters: `after` with all members.
Roster merged(Roster before, Roster after) {
  if (after.since == 0) {  // It may omit all but the latest left members.
    for (Member& member : before.members) {
      if (member.left && after.find(member.node) == nullptr) {
        after.members.push_back(std::move(member));
      }
    }
    return after;
  }
  for (const Member& change : after.members) {
    const auto known = std::find_if(before.members.begin(), before.members.end(),
                                    [&](const Member& m) { return m.node == change.node; });
    if (known == before.members.end()) {
      before.members.push_back(change);
      continue;
    }
    known->joining = change.joining;
    known->from_step = change.from_step;
    known->standby = change.standby;
    known->left = change.left;
    known->lost = change.lost;
    known->rank = change.rank;
    known->moved_up = change.moved_up;
  }
  after.members = std::move(before.members);
  after.since = 0;
  return after;
}

// A process that dies loses all its links together. So a node that lost only the link to the
// scheduler is alive.
void tell_of_links(Van& van, LinkId scheduler, const Roster& roster) {
  using Told = control::LinkReport::State;
  for (const auto& [node, apart] : van.links().take_news()) {
    if (node == kSchedulerNode || roster.find(node) == nullptr) continue;
    van.send_control(scheduler, control::LinkReport{.node = node,
                                                    .state = apart ? Told::kApart : Told::kMended});
  }
}

// Its settings show that it joins a running job, whose scheduler may be replaced soon.
bool comes_late(const Config& config) {
  const bool beyond = config.rank >= std::int64_t{config.workers} && !config.workers_are_hosts;
  return config.role == Role::kWorker && config.workers != 0 && (beyond || config.former != 0);
}

// The membership survives the loss of the scheduler, because another one replaces it.
bool may_return(MembershipClient::State state, const JobSettings& settings) {
  const bool waits =
      state == MembershipClient::State::kMember || state == MembershipClient::State::kLeaving;
  return waits && settings.scheduler_absence != Duration::zero();
}

// How long the scheduler may take to decide on a broken link: it may have to select the surviving
// members.
Duration time_to_decide(const JobSettings& settings) {
  const bool has_choice = settings.elastic() || settings.replicated();
  return verdict_for(settings.dead_after) +
         (has_choice ? fault_window(settings.dead_after) : Duration::zero());
}

// A restarted scheduler may first have to detect that a member is silent.
Time verdict_due(const Verdicts& verdicts, const SchedulerSilence& silence,
                 const JobSettings& settings) {
  const Duration patience = settings.dead_after + time_to_decide(settings);
  return silence.postpone(verdicts.next_due(), std::max(patience, 2 * settings.dead_after));
}

void tell_of_wait(const Config& config, const SchedulerLink& scheduler, Duration waited) {
  log(Level::kWarning,
      "no scheduler has answered at {} for {:.0f} s: {}; is it running, and is "
      "this its address? The attempts end after {} s",
      config.scheduler, seconds(waited), scheduler.attempts().cause(),
      seconds(config.rendezvous_timeout));
}

// A local verdict: the scheduler, which may know the root cause, did not decide.
Status undecided(const Status& verdict, const SchedulerSilence& silence, Time now,
                 Duration heartbeat) {
  if (!silence.is_overdue(now, heartbeat)) return verdict;
  return Status(verdict.code(),
                fmt::format("{}; and nothing was heard of the scheduler for {:.1f} s",
                            verdict.cause(), seconds(silence.lasts(now))))
      .with_peer(verdict.peer());
}

}  // namespace

MembershipClient::MembershipClient(const Config& config, Self self, Van& van, const Clock& clock)
    : config_(config),
      self_(std::move(self)),
      van_(van),
      clock_(clock),
      scheduler_(config, van, clock) {
  van_.links().set_names([this](NodeId node) -> std::string {
    if (node == kSchedulerNode) return "the scheduler";
    const Member* member = roster_ ? roster_->find(node) : nullptr;
    return member == nullptr ? std::string() : member->describe();
  });
}

void MembershipClient::start(std::string address) {
  if (!address.empty()) self_.address = std::move(address);
  state_ = State::kGreeting;
  deadline_ = after(clock_.now(), config_.rendezvous_timeout);
  greeting_notes_ = WaitNotes(clock_.now());
  if (Status called = scheduler_.call(hello()); !called.ok()) {
    fail(std::move(called).with_operation("join"));
  }
}

control::Hello MembershipClient::hello() const {
  control::Hello hello = introduction(config_.role, config_.token);
  hello.rank = node_ == 0 ? config_.rank : rank_;
  hello.workers = config_.workers_are_hosts ? 0 : config_.workers;
  hello.servers = config_.servers;
  hello.node = node_ == 0 ? config_.former : node_;
  hello.address = self_.address;
  hello.shard = self_.shard;
  hello.shards = config_.shards;
  if (node_ != 0) hello.padding = kPathProofBytes;  // To any member but the scheduler.
  hello.machine = config_.machine == 0 ? this_machine() : config_.machine;
  return hello;
}

bool MembershipClient::on_control(LinkId link, const control::Message& message) {
  if (!scheduler_.is(link)) return false;
  silence_.end(clock_.now(), scheduler_is_away());
  if (const auto* welcome = std::get_if<control::Welcome>(&message)) {
    on_welcome(*welcome);
  } else if (const auto* roster = std::get_if<Roster>(&message)) {
    on_roster(*roster);
  } else if (const auto* beat = std::get_if<control::Heartbeat>(&message)) {
    heartbeats_.hear(*beat);
  } else if (control::is<control::Leave>(message)) {
    if (over() || state_ == State::kResigning) return true;
    state_ = State::kLeft;
    heartbeats_.end();
  } else if (const auto* failure = std::get_if<control::Failure>(&message)) {
    fail(failure->why);
  } else if (const auto* fault = std::get_if<control::Fault>(&message)) {
    if (fault->tensor != 0 || !fault->name.empty()) return false;
    // Another process may listen at this address now. The link's end follows.
    if (scheduler_.is_awaited() && fault->why.code() == Code::kRefused) {
      scheduler_.refused(fault->why);
      return true;
    }
    const Status why = Status(fault->why).with_peer("scheduler");
    fail(roster_ ? fault->why : Status(why).with_operation("join"), State::kCutOff);
  } else {
    return false;
  }
  return true;
}

void MembershipClient::on_welcome(const control::Welcome& welcome) {
  const Time now = clock_.now();
  const bool is_back = scheduler_.is_awaited();
  if (state_ != State::kGreeting && !is_back) return;
  if (!scheduler_.welcome(welcome)) return;
  heartbeats_.begin(now);
  if (!is_back) {
    node_ = welcome.node;
    rank_ = welcome.rank;
    number_ = welcome.rank;
    van_.set_node(node_);
    state_ = State::kRendezvous;  // The scheduler limits this phase.
    return;
  }
  for (const auto& [node, cause] : verdicts_.pending()) {
    van_.send_control(scheduler_.id(), control::LinkReport{.node = node, .cause = cause});
  }
  if (state_ != State::kLeaving) return;
  van_.send_control(scheduler_.id(), control::Leave{});
  deadline_ = now + kLeavePatience;
}

void MembershipClient::on_roster(const Roster& roster) {
  if (roster_ && roster.epoch <= roster_->epoch) return;
  if (Status refused = check(roster, roster_, config_.job.part_bytes); !refused.ok()) {
    return fail(std::move(refused).with_peer("scheduler"));
  }
  roster_ = roster_ ? merged(*std::move(roster_), roster) : roster;
  verdicts_.follow(*roster_);
  if (const Member* self = roster_->find(node_)) {
    rank_ = self->rank;
    number_ = self->number();
  }
  van_.set_epoch(roster_->epoch, roster_->fence);
  van_.set_windows(roster_->settings.link_window_bytes, roster_->settings.total_window_bytes);
  van_.set_dead_after(roster_->settings.dead_after);
  if (state_ == State::kRendezvous) state_ = State::kMember;
}

bool MembershipClient::on_broken(LinkId link, const Status& why) {
  if (!scheduler_.is(link)) return false;
  scheduler_.ended(why);
  if (over() || scheduler_.is_awaited()) return true;
  if (state_ == State::kResigning) {
    state_ = State::kFailed;
    return true;
  }
  if (state_ == State::kGreeting) {
    if (why.code() == Code::kResource) fail(Status(why).with_operation("join"));
    return true;
  }
  lose_scheduler({Code::kSchedulerLost, fmt::format("the link to the scheduler at {} broke: {}",
                                                    config_.scheduler, why.cause())});
  return true;
}

bool MembershipClient::scheduler_is_away() const {
  if (scheduler_.is_awaited()) return true;
  return may_return(state_, settings()) && silence_.is_overdue(clock_.now(), settings().heartbeat);
}

// In some jobs another scheduler replaces it.
void MembershipClient::lose_scheduler(Status why) {
  if (state_ == State::kRendezvous && comes_late(config_)) {  // Back to the initial state.
    scheduler_.hang_up();
    heartbeats_.end();
    node_ = 0;
    state_ = State::kGreeting;
    return;
  }
  if (!may_return(state_, settings())) {
    return fail(std::move(why).with_peer("scheduler"), State::kCutOff);
  }
  heartbeats_.end();
  control::Hello to_scheduler = hello();
  to_scheduler.padding = 0;
  scheduler_.await(std::move(why), settings().scheduler_absence, to_scheduler);
}

void MembershipClient::tick() {
  const Time now = clock_.now();
  if (scheduler_.is_awaited() && !over()) {
    std::optional<Status> lost = scheduler_.search(wakefulness_.slept(now));
    if (lost) fail(std::move(*lost).with_peer("scheduler"), State::kCutOff);
    return;
  }
  if (!over() && scheduler_.id() != 0 && roster_) tell_of_links(van_, scheduler_.id(), *roster_);
  if (wakefulness_.slept(now)) silence_.end(now, scheduler_is_away());
  const bool decides = !scheduler_is_away() && state_ != State::kResigning;
  if (decides && now >= verdict_due(verdicts_, silence_, settings())) {
    fail(undecided(verdicts_.first(), silence_, now, settings().heartbeat), State::kCutOff);
  }
  switch (state_) {
    case State::kGreeting:
      if (const auto waited = greeting_notes_.take(now)) {
        tell_of_wait(config_, scheduler_, *waited);
      }
      if (now >= deadline_) {
        fail(Status(Code::kRendezvousTimeout,
                    fmt::format("no scheduler answered at {} within {} s ({}); is it running, and "
                                "is this its address?",
                                config_.scheduler,
                                std::chrono::duration<double>(config_.rendezvous_timeout).count(),
                                scheduler_.attempts().cause()))
                 .with_peer("scheduler")
                 .with_operation("join"));
      } else if (scheduler_.attempts().meets_a_stranger()) {
        fail(Status(Code::kRefused, scheduler_.attempts().cause())
                 .with_peer("scheduler")
                 .with_operation("join"));
      } else if (config_.former != 0 && scheduler_.attempts().nobody_listens(now)) {
        fail(Status(Code::kSchedulerLost,
                    fmt::format("nobody listens at {} any more: the job that this worker was lost "
                                "to is over",
                                config_.scheduler))
                 .with_peer("scheduler")
                 .with_operation("join"));
      } else if (scheduler_.may_be_called()) {
        if (Status called = scheduler_.call(hello()); !called.ok()) {
          fail(std::move(called).with_operation("join"));
        }
      }
      break;
    case State::kRendezvous:
    case State::kMember:
      watch_scheduler(now);
      break;
    case State::kLeaving:
      watch_scheduler(now);
      if (now >= silence_.postpone(deadline_, kLeavePatience) && !over() && !scheduler_is_away()) {
        fail(Status(Code::kTimeout, "the scheduler did not answer the request to leave")
                 .with_peer("scheduler")
                 .with_operation("leave"));
      }
      break;
    case State::kResigning:
      if (now >= deadline_) state_ = State::kFailed;
      break;
    case State::kIdle:
    case State::kLeft:
    case State::kFailed:
    case State::kCutOff:
      break;
  }
}

void MembershipClient::watch_scheduler(Time now) {
  if (over()) return;
  if (heartbeats_.due(now)) {
    van_.send_control(scheduler_.id(), heartbeats_.take(van_, now, settings().heartbeat));
  }
  if (silence_.lasts(now) > settings().dead_after) {
    lose_scheduler(
        {Code::kSchedulerLost, fmt::format("nothing heard of the scheduler at {} for {:.1f} s",
                                           config_.scheduler, seconds(silence_.lasts(now)))});
  }
}

Time MembershipClient::next_due() const {
  if (scheduler_.is_awaited() && !over()) return scheduler_.next_due();
  const bool away = scheduler_is_away();
  Time due = Time::max();
  if (state_ == State::kGreeting) due = std::min(scheduler_.next_call(), deadline_);
  if (state_ == State::kResigning) due = deadline_;
  if (state_ == State::kLeaving && !away) due = silence_.postpone(deadline_, kLeavePatience);
  if (state_ == State::kRendezvous || state_ == State::kMember || state_ == State::kLeaving) {
    due = std::min(due, heartbeats_.next());
  }
  if (!over() && !away) due = std::min(due, verdict_due(verdicts_, silence_, settings()));
  return due;
}

void MembershipClient::leave() {
  if (state_ != State::kMember) return;
  van_.send_control(scheduler_.id(), control::Leave{});
  state_ = State::kLeaving;
  deadline_ = clock_.now() + kLeavePatience;
}

void MembershipClient::fail(Status why, State as) {
  if (over()) return;
  if (state_ != State::kResigning) status_ = std::move(why);
  const bool goes_on = state_ == State::kMember && settings().elastic();
  state_ = goes_on ? as : State::kFailed;
  heartbeats_.end();
}

void MembershipClient::resign(Status why) {
  if (over() || state_ == State::kResigning) return;
  if (scheduler_.id() == 0 || state_ == State::kIdle || state_ == State::kGreeting) {
    return fail(std::move(why));
  }
  van_.send_control(scheduler_.id(), control::Failure{Status(why.code(), why.cause())});
  status_ = std::move(why);
  state_ = State::kResigning;
  heartbeats_.end();
  deadline_ = clock_.now() + kFarewell;
}

void MembershipClient::report_broken(NodeId node, const Status& why, Status verdict) {
  if (over() || state_ == State::kResigning) return;
  // A roster of the same iteration may have decided already, and no other may follow.
  const Member* member = roster_ ? roster_->find(node) : nullptr;
  if (member != nullptr && member->left) return;
  van_.send_control(scheduler_.id(), control::LinkReport{.node = node, .cause = why.cause()});
  verdicts_.add(node, std::move(verdict), clock_.now(), time_to_decide(settings()),
                member != nullptr && member->standby);
}

}  // namespace stretto
