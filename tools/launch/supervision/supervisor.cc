// SPDX-License-Identifier: Apache-2.0
// The rules of supervision: events become evidence, and each step of the lifecycle becomes orders.
#include "tools/launch/supervision/supervisor.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <iterator>

#include "common/check.h"
#include "common/clock.h"
#include "tools/launch/supervision/external_servers.h"
#include "tools/launch/supervision/spare_workers.h"
#include "tools/launch/supervision/stop_orders.h"

namespace stretto::launch {
namespace {

// An orphan may still join in place of an ended worker.
bool looks_for_absent(const Lifecycle& lifecycle, std::size_t orphans) {
  return lifecycle.phase() == Lifecycle::Phase::kRunning && orphans == 0;
}

void append(Reaction& reaction, Reaction next) {
  reaction.restarts.insert(reaction.restarts.end(), next.restarts.begin(), next.restarts.end());
  reaction.orders.insert(reaction.orders.end(), next.orders.begin(), next.orders.end());
  std::ranges::move(next.notes, std::back_inserter(reaction.notes));
}

// The server has ended, or must, and another replaces it; or its standby was promoted without a
// replacement.
void lose_server(GoingOn& going_on, JobEvidence& evidence, std::size_t member, Time now,
                 Reaction& reaction) {
  // An exit of the scheduler with a status has a reason.
  if (member == 0 && !evidence.is_alive(0)) return;
  const bool is_guest = is_guest_server(evidence.members[member].member, going_on.places());
  const auto stand_in = stand_in_for(member, going_on.places(), evidence);
  const bool comes = stand_in && going_on.returns(evidence, *stand_in);
  if (comes) {
    evidence.members[*stand_in].lost_guest = evidence.members[member].member.rank;
    member = *stand_in;
  } else if (is_guest) {
    evidence.members[member].forgiven = false;  // An earlier server may have had this id.
  }
  bool ends_it = false;
  if (comes || (!is_guest && (member == 0 || going_on.returns(evidence, member)))) {
    ends_it = going_on.await_return(evidence, member);
  } else if (std::string news = going_on.take_word(evidence, member, now); !news.empty()) {
    reaction.notes.push_back(std::move(news));
    ends_it = evidence.is_alive(member);
    evidence.members[member].told = ends_it;
  }
  if (ends_it) reaction.orders.push_back({member, SIGKILL, SignalOrder::Scope::kGroup});
}

// The signal for a member's remaining children, which may be its real program, as under a shell; 0:
// none. While the job stops, they have not got the notice that killed the shell: it was sent to the
// shell alone, unless it was SIGINT.
int signal_for_group(const Exit& exit, const Lifecycle& lifecycle) {
  if (!exit.by_signal) return 0;
  if (!lifecycle.stop_signal()) return SIGKILL;
  const int told = *lifecycle.stop_signal();
  const bool told_now = lifecycle.phase() == Lifecycle::Phase::kStopping ||
                        lifecycle.phase() == Lifecycle::Phase::kLeaving;
  const bool alone = told_now && told != SIGINT;
  return alone && exit.number == told ? told : 0;
}

// While workers leave on the launcher's request, news of an earlier loss still counts.
bool heeds_loss(const Lifecycle& lifecycle, const MemberRecord& witness) {
  const bool leaving = lifecycle.phase() == Lifecycle::Phase::kLeaving;
  return !lifecycle.stop_signal() || (leaving && !witness.told);
}

// None: no spare is free.
std::optional<std::size_t> start_spare(GoingOn& going_on, JobEvidence& evidence, std::size_t lost,
                                       Time now, Reaction& reaction) {
  const auto spare = spare_worker(evidence);
  evidence.members[lost].unreplaced = !spare;
  if (!spare) return std::nullopt;
  reaction.restarts.push_back({.member = *spare, .instead_of = lost});
  going_on.replace(evidence, lost, *spare, now);
  return spare;
}

// An unneeded replacement has ended, and may run again, also for a worker that was lost meanwhile.
void reuse_unneeded(GoingOn& going_on, JobEvidence& evidence, std::size_t member, Time now,
                    bool may_start, Reaction& reaction) {
  evidence.record_reuse(member);
  const auto lost = may_start ? take_unreplaced(evidence) : std::nullopt;
  if (!lost) return;
  if (const auto spare = start_spare(going_on, evidence, *lost, now, reaction)) {
    reaction.notes.push_back(fmt::format("{} is started for {}",
                                         label_of(evidence.members[*spare].member),
                                         label_of(evidence.members[*lost].member)));
  }
}

// The scheduler may report a loss twice, and the member is replaced once.
void go_on_without(GoingOn& going_on, JobEvidence& evidence, std::size_t member, Time now,
                   bool may_start, Reaction& reaction) {
  if (evidence.members[member].comes_for) {  // It is not needed.
    reaction.notes.push_back(going_on.drop(evidence, member, now));
    return;
  }
  if (evidence.members[member].member.role == Role::kServer) {
    return lose_server(going_on, evidence, member, now, reaction);
  }
  if (std::string news = GoingOn::take_end_of_leaver(evidence, member); !news.empty()) {
    reaction.notes.push_back(std::move(news));
    return;
  }
  std::string news = going_on.take_word(evidence, member, now);
  if (news.empty()) return;
  const auto spare = may_start ? start_spare(going_on, evidence, member, now, reaction)
                               : std::optional<std::size_t>();
  if (spare) {
    news += fmt::format("; {} is started for it", label_of(evidence.members[*spare].member));
  }
  reaction.notes.push_back(std::move(news));
}

// K does not count a surplus replacement: the scheduler would reject it.
void end_unneeded(JobEvidence& evidence, std::optional<std::size_t> returned, Reaction& reaction) {
  while (const auto member = take_unneeded(evidence, returned)) {
    reaction.orders.push_back({*member, SIGKILL, SignalOrder::Scope::kGroup});
    reaction.notes.push_back(
        fmt::format("sent SIGKILL to {}: it has not joined, and another worker has its place",
                    label_of(evidence.members[*member].member)));
  }
}

// Restarts ended members that are awaited: all, so that the job continues; or only the scheduler,
// so that it tells the others why the job ends. Returns the number of the latter.
std::uint32_t run_again(JobEvidence& evidence, bool all, Reaction& reaction) {
  const std::size_t before = reaction.restarts.size();
  for (auto& [member, note] : GoingOn::take_returns(evidence, all)) {
    reaction.restarts.push_back({.member = member, .instead_of = member});
    reaction.notes.push_back(std::move(note));
  }
  return all ? 0 : static_cast<std::uint32_t>(reaction.restarts.size() - before);
}

// The member could not start: the primary stays, or it would have been a standby.
bool another_serves(const MemberRecord& witness, bool gathered, const GoingOn& going_on) {
  const bool stand_by = gathered && going_on.may_lose_hosts(Role::kServer);
  const bool was_to_come = witness.spare || witness.comes_for.has_value();
  return witness.member.role == Role::kServer && (was_to_come || stand_by);
}

// True: the member may live, and the job continues with it while its scheduler hears it.
bool lose_with_host(const GoingOn& going_on, JobEvidence& evidence, std::size_t member, Time now) {
  MemberRecord& witness = evidence.members[member];
  witness.unwatched = going_on.may_go_unwatched(evidence, member);
  const bool may_lose = going_on.may_lose_hosts(witness.member.role);
  if (may_lose && !witness.unwatched) going_on.await_word(evidence, member, now);
  return witness.unwatched;
}

Reaction news_of_unwatched(const std::vector<std::string>& names, const Status& why) {
  Reaction reaction;
  const bool taken_away = why.code() == Code::kInterrupted;  // The job ends, and reports that.
  if (names.empty() || taken_away) return reaction;
  const bool silent = why.code() == Code::kTimeout;  // Otherwise its processes end, too.
  reaction.notes.push_back(
      silent ? fmt::format("warning: {}; the job goes on with {} as long as the scheduler hears of "
                           "each",
                           why.cause(), fmt::join(names, ", "))
             : fmt::format("warning: {}", why.cause()));
  return reaction;
}

bool is_by_program(const Verdict& verdict, const JobEvidence& evidence) {
  return std::ranges::any_of(evidence.members, [&](const MemberRecord& witness) {
    return verdict.who == witness.member && ended_by_itself(witness);
  });
}

// A member that is lost to the others is not asked to end: it cannot receive or obey that.
std::vector<std::size_t> kill_abandoned(JobEvidence& evidence, LossDetector& losses,
                                        GoingOn& going_on, Time now, Reaction& reaction) {
  std::vector<std::size_t> abandoned = losses.abandoned(evidence, now);
  const std::vector<std::size_t> overdue = going_on.overdue(evidence, now);
  abandoned.insert(abandoned.end(), overdue.begin(), overdue.end());
  for (const std::size_t member : overdue) {
    MemberRecord& witness = evidence.members[member];
    const bool news = !std::exchange(witness.forgiven, true) && witness.spare;
    if (news && witness.member.role == Role::kWorker) {
      reaction.notes.push_back(
          fmt::format("{} has not joined, and the job is done", label_of(witness.member)));
    }
  }
  for (const std::size_t member : abandoned) {
    evidence.members[member].told = true;
    reaction.orders.push_back({member, SIGKILL, SignalOrder::Scope::kGroup});
  }
  return abandoned;
}

}  // namespace

Supervisor::Supervisor(const std::vector<JobMember>& members, const Limits& limits, Time now,
                       GoingOn::Sizing sizing, std::size_t spares, std::uint32_t server_restarts)
    : limits_(limits),
      lifecycle_(limits, now),
      losses_(limits),
      going_on_(limits, sizing, server_restarts) {
  STRETTO_CHECK(!members.empty() && members[0].role == Role::kScheduler);
  for (const JobMember& member : members) evidence_.members.emplace_back(member);
  for (std::size_t i = 1; i <= spares; ++i) evidence_.members.at(members.size() - i).spare = true;
}

void Supervisor::on_spawned(std::size_t member) { evidence_.record_start(member); }

Reaction Supervisor::on_refused(std::size_t member, int exit_status, Status why, Time now) {
  MemberRecord& witness = evidence_.members[member];
  const bool serves_on = another_serves(witness, losses_.gathered(), going_on_);
  hopeless_ = hopeless_ || !(witness.spare || serves_on);
  evidence_.record_loss(member, exit_status, std::move(why).with_operation("start"), now);
  evidence_.record_out_of_sight(member);
  if (serves_on) witness.forgiven = true;
  if (witness.spare && !serves_on) going_on_.await_word(evidence_, member, now);
  return on_time(now);
}

Reaction Supervisor::on_host_lost(std::span<const std::size_t> members, Status why, Time since,
                                  Time now) {
  STRETTO_CHECK(!members.empty());
  const MemberRecord& first = evidence_.members[members.front()];
  const bool unborn =
      first.life == MemberRecord::Life::kUnborn && !first.spare;  // Spares may wait.
  why = std::move(why).with_operation(unborn ? "start" : "run");
  std::vector<std::string> unwatched;
  Reaction reaction;
  for (const std::size_t member : members) {
    if (!unborn && !evidence_.is_alive(member)) continue;
    if (evidence_.members[member].unneeded) {
      evidence_.record_out_of_sight(member);
      reuse_unneeded(going_on_, evidence_, member, now, may_start(), reaction);
      continue;
    }
    evidence_.record_loss(member, 1, why, since);
    evidence_.record_out_of_sight(member);
    MemberRecord& witness = evidence_.members[member];
    witness.awaited = witness.awaited && going_on_.may_lose_hosts(witness.member.role);
    witness.forgiven = witness.forgiven || witness.comes_for;  // The primary stays.
    if (losses_.gathered() && lose_with_host(going_on_, evidence_, member, now))
      unwatched.push_back(label_of(witness.member));
  }
  if (unborn) hopeless_ = true;
  append(reaction, news_of_unwatched(unwatched, why));
  append(reaction, on_time(now));
  return reaction;
}

Reaction Supervisor::on_ready() {
  Reaction reaction;
  lifecycle_.on_ready();
  if (!may_start()) return reaction;
  for (std::size_t i = 1; i < evidence_.members.size(); ++i) {
    if (!evidence_.members[i].spare) reaction.starts.push_back(i);
  }
  return reaction;
}

Reaction Supervisor::on_gathering(JobFormation gathering, Time now) {
  losses_.on_gathering(gathering, now);
  if (losses_.gathered()) lifecycle_.on_gathered();
  return on_time(now);
}

Reaction Supervisor::on_loss_news(std::size_t member, bool is_back, Time now, bool dropped) {
  Reaction reaction;
  if (member == 0 && !(may_start() && going_on_.scheduler_returns(evidence_))) return reaction;
  if (dropped) {
    if (std::string news = going_on_.drop(evidence_, member, now); !news.empty())
      reaction.notes.push_back(std::move(news));
  } else if (evidence_.members[member].member.role != Role::kWorker) {
    if (!lifecycle_.stop_signal()) lose_server(going_on_, evidence_, member, now, reaction);
  } else if (is_back) {
    std::string news = going_on_.take_back(evidence_, member);
    if (!news.empty()) reaction.notes.push_back(std::move(news));
    end_unneeded(evidence_, member, reaction);
  } else if (heeds_loss(lifecycle_, evidence_.members[member])) {
    go_on_without(going_on_, evidence_, member, now, may_start(), reaction);
  }
  append(reaction, on_time(now));
  return reaction;
}

Reaction Supervisor::on_guests(std::uint32_t guests, Time now) {
  going_on_.take_guests(evidence_, guests, now);
  Reaction reaction;
  end_unneeded(evidence_, std::nullopt, reaction);
  append(reaction, on_time(now));
  return reaction;
}

Reaction Supervisor::on_never_ready(Status why, Time now) {
  if (lifecycle_.phase() == Phase::kStarting && !evidence_.failed()) {
    evidence_.record_loss(0, 1, std::move(why).with_operation("start"), now);
  }
  return on_time(now);
}

Reaction Supervisor::on_ended(std::span<const Ended> ended, std::size_t orphans, Time now) {
  orphans_ = orphans;
  Reaction reaction;
  for (const Ended& one : ended) record(one, now, reaction);
  if (lifecycle_.phase() == Phase::kLeaving) excuse_followers(evidence_, now);
  append(reaction, on_time(now));
  return reaction;
}

void Supervisor::record(const Ended& ended, Time now, Reaction& reaction) {
  evidence_.record_end(ended.member, ended.exit, now);
  const bool may_return = ended.member != 0 || may_start(0);
  if (may_return && losses_.gathered()) going_on_.await_word(evidence_, ended.member, now);
  if (may_start() && !losses_.gathered()) going_on_.await_another(evidence_, ended.member, now);
  if (const int signal = signal_for_group(ended.exit, lifecycle_); signal != 0) {
    reaction.orders.push_back({ended.member, signal, SignalOrder::Scope::kGroup});
    await_orphans_ = lifecycle_.stop_signal().has_value();
  }
  if (evidence_.members[ended.member].unneeded)
    reuse_unneeded(going_on_, evidence_, ended.member, now, may_start(), reaction);
  const Role role = evidence_.members[ended.member].member.role;
  if (lifecycle_.phase() == Phase::kStarting && role == Role::kScheduler) {
    evidence_.record_loss(
        ended.member, ended.exit.failed() ? ended.exit.status() : 1,
        Status(Code::kSchedulerLost, ended.exit.text() + " before it said where it listens")
            .with_operation("start"),
        now);
  }
}

Reaction Supervisor::on_signal(int signal, Time now) {
  if (!evidence_.interrupt) evidence_.interrupt = signal;
  lifecycle_.on_signal(signal, now);
  return on_time(now);
}

// As if the notice had arrived in time: recent ends are reactions to it.
Reaction Supervisor::on_notice(int signal, Time now) {
  for (MemberRecord& witness : evidence_.members) {
    const bool just_now =
        witness.life == MemberRecord::Life::kEnded && now - witness.at <= kHindsight;
    if (!lifecycle_.stop_signal() && just_now && explained_by(witness, signal)) {
      witness.told = true;
      witness.said.reset();
    }
  }
  if (!evidence_.interrupt) evidence_.interrupt = signal;
  lifecycle_.on_notice(signal);
  return on_time(now);
}

Reaction Supervisor::on_statement(std::size_t member, ErrorLine statement, Time now) {
  MemberRecord& witness = evidence_.members[member];
  if (!witness.told) witness.said = std::move(statement);
  return on_time(now);
}

Reaction Supervisor::on_time(Time now) {
  Reaction reaction;
  for (const std::size_t member : going_on_.look(evidence_, now)) {
    const bool more = may_start() && evidence_.is_alive(0);  // The scheduler is the first.
    go_on_without(going_on_, evidence_, member, now, more, reaction);
  }
  if (going_on_.elastic()) blame_leaver(evidence_, limits_.least_workers);
  if (may_start(0) && evidence_.has_scheduler())
    told_by_ += run_again(evidence_, may_start(), reaction);
  take_losses(now);
  std::vector<std::size_t> killed;
  if (!lifecycle_.stop_signal())
    killed = kill_abandoned(evidence_, losses_, going_on_, now, reaction);
  std::string loss = news();
  const Phase met = lifecycle_.phase();
  // Each phase is entered once, so this ends.
  for (Phase before = Phase::kOver; before != lifecycle_.phase();) {
    before = lifecycle_.phase();
    take(lifecycle_.step(facts(), now), before, reaction);
  }
  if (lifecycle_.phase() == Phase::kSettling) stop_latecomers(evidence_, reaction);
  const bool done = met == Phase::kRunning && facts().workers_succeeded;
  if (const std::string lost = GoingOn::farewell(evidence_); done && !lost.empty())
    reaction.notes.push_back(lost);
  for (const std::size_t member : killed) {
    loss += fmt::format("{}sent SIGKILL to {}", loss.empty() ? "" : "; ",
                        label_of(evidence_.members[member].member));
  }
  if (!loss.empty()) {
    if (met == Phase::kRunning && lifecycle_.phase() == Phase::kSettling) {
      loss += fmt::format("; the others have {} s to end by themselves",
                          seconds(lifecycle_.patience(Phase::kSettling)));
    }
    reaction.notes.insert(reaction.notes.begin(), std::move(loss));
  }
  return reaction;
}

// Any failure ends the job.
Lifecycle::Facts Supervisor::facts() const {
  return {.failed = evidence_.failed(),
          .hopeless = hopeless_,
          .all_ended = evidence_.all_ended(),
          .workers_succeeded = evidence_.workers_succeeded() && !evidence_.guests_go_on(),
          .may_leave = going_on_.elastic() && losses_.gathered(),
          .workers_ended = evidence_.workers_ended(),
          .orphans_awaited = await_orphans_ && orphans_ > 0};
}

void Supervisor::take_losses(Time now) {
  if (looks_for_absent(lifecycle_, orphans_)) {
    for (const std::size_t member : losses_.absent(evidence_, now)) {
      const MemberRecord& witness = evidence_.members[member];
      evidence_.record_loss(
          member, 1,
          Status(Code::kPeerLost,
                 fmt::format("{} before it had joined the job, and other workers wait for it",
                             witness.exit->text()))
              .with_operation("start"),
          witness.at);
    }
  }
  const bool starting = lifecycle_.phase() == Phase::kStarting;
  if (starting && lifecycle_.late(now) && !evidence_.failed() && !lifecycle_.interrupted()) {
    evidence_.record_loss(
        0, 1,
        Status(Code::kRendezvousTimeout,
               fmt::format("did not say where it listens within {} s", seconds(limits_.start)))
            .with_operation("start"),
        now);
  }
}

// Describes a lost member and the evidence; empty if that has been reported.
std::string Supervisor::news() {
  const bool starting = lifecycle_.phase() == Phase::kStarting;
  if (lifecycle_.stop_signal() || starting || hopeless_ || !evidence_.failed()) return {};
  const Verdict verdict = cause_of(evidence_);
  const bool harmless = facts().workers_succeeded;
  const bool once = harmless && !announced_.empty();
  if (once || std::find(announced_.begin(), announced_.end(), verdict.who) != announced_.end()) {
    return {};
  }
  announced_.push_back(verdict.who);
  return (harmless ? "warning: " : "") + verdict.sentence();
}

void Supervisor::take(Step step, Phase before, Reaction& reaction) {
  switch (step) {
    case Step::kNone:
      return;
    case Step::kStop:
      order_stop(evidence_, lifecycle_, before,
                 reason_to_stop(lifecycle_, before, losses_.gathered()), reaction);
      return;
    case Step::kStopWorkers:
      order_stop(evidence_, lifecycle_, before, {}, reaction);
      return;
    case Step::kKill:
      for (std::size_t i = 0; i < evidence_.members.size(); ++i) {
        if (evidence_.members[i].life == MemberRecord::Life::kUnborn) continue;
        reaction.orders.push_back({i, SIGKILL, SignalOrder::Scope::kGroup});
      }
      if (!evidence_.all_ended()) {
        reaction.notes.push_back("sent SIGKILL to " + evidence_.alive_names());
      }
      return;
    case Step::kAbandon:
      reaction.notes.push_back("warning: the kernel does not end " + evidence_.alive_names());
      return;
  }
}

std::optional<Time> Supervisor::deadline() const {
  std::optional<Time> first = lifecycle_.deadline();
  const auto consider = [&first](std::optional<Time> due) {
    if (due && (!first || *due < *first)) first = due;
  };
  if (!lifecycle_.stop_signal()) consider(losses_.abandonment_deadline());
  if (!lifecycle_.stop_signal()) consider(going_on_.deadline(evidence_));
  if (looks_for_absent(lifecycle_, orphans_)) consider(losses_.absence_deadline(evidence_));
  return first;
}

AttemptOutcome Supervisor::outcome() const {
  STRETTO_CHECK(over());
  AttemptOutcome outcome;
  outcome.verdict = judge(evidence_);
  outcome.gathered = losses_.gathered();
  outcome.interrupted = evidence_.interrupt.has_value();
  outcome.by_program = is_by_program(outcome.verdict, evidence_);
  outcome.replaced = replaced_in(evidence_) - told_by_;  // These did not let the job continue.
  return outcome;
}

}  // namespace stretto::launch
