// SPDX-License-Identifier: Apache-2.0
// The rules of supervision; all transitions are in Supervisor::transit.
#include "tools/launch/supervisor.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "common/check.h"
#include "common/clock.h"

namespace stretto::launch {
namespace {

// A terminal and a wrapper may both pass on one Ctrl-C; only a later one is a second.
constexpr Duration kSecondInterrupt = 1s;
constexpr std::size_t kMaxNames = 8;

}  // namespace

Supervisor::Supervisor(const std::vector<Member>& members, const Limits& limits, Time now)
    : limits_(limits), deadline_(now + limits.start) {
  STRETTO_CHECK(!members.empty() && members[0].role == Role::kScheduler);
  for (const Member& member : members) evidence_.members.emplace_back(member);
}

void Supervisor::on_spawned(std::size_t member) {
  STRETTO_CHECK(evidence_.members[member].life == Life::kUnborn);
  evidence_.members[member].life = Life::kAlive;
}

// What is lost does not run any more, as far as we can ever know. A scheduler that is only silent
// does: it is told to end as all are.
void Supervisor::lose(std::size_t member, int exit_status, Status why, Time at) {
  Witness& witness = evidence_.members[member];
  witness.lost = std::move(why);
  witness.lost_status = exit_status;
  witness.at = at;
}

Reaction Supervisor::on_refused(std::size_t member, int exit_status, Status why, Time now) {
  hopeless_ = true;
  lose(member, exit_status, std::move(why).with_operation("start"), now);
  if (is_alive(member)) evidence_.members[member].life = Life::kEnded;
  return advance(now);
}

Reaction Supervisor::on_host_lost(std::span<const std::size_t> members, Status why, Time since,
                                  Time now) {
  STRETTO_CHECK(!members.empty());
  const bool unborn = evidence_.members[members.front()].life == Life::kUnborn;
  why = std::move(why).with_operation(unborn ? "start" : "run");
  for (const std::size_t member : members) {
    if (!unborn && !is_alive(member)) continue;
    lose(member, 1, why, since);
    if (is_alive(member)) evidence_.members[member].life = Life::kEnded;
  }
  if (unborn) hopeless_ = true;
  return advance(now);
}

void Supervisor::on_ready() {
  if (phase_ == Phase::kStarting) enter(Phase::kRunning, std::nullopt);
}

Reaction Supervisor::on_gathering(Gathering gathering, Time now) {
  gathered_ = gathered_ || gathering == Gathering::kComplete;
  const bool patient = phase_ == Phase::kSettling || phase_ == Phase::kDraining;
  if (gathered_ && patient) be_patient(phase_, patient_since_);
  if (gathered_ || gathering == Gathering::kUnawaited) {
    awaited_since_.reset();
  } else if (!awaited_since_) {
    awaited_since_ = now;
  }
  return advance(now);
}

// Who has ended will not come any more, whatever its status: unless a process that it left behind
// does so for it. A moment is left to news of others' coming, and to others to give up.
std::optional<Time> Supervisor::absence_due(const Witness& witness) const {
  const bool awaited = phase_ == Phase::kRunning && awaited_since_ && orphans_ == 0;
  const bool absent = witness.member.role == Role::kWorker && witness.succeeded() &&
                      !witness.told && witness.lost.ok();
  if (!awaited || !absent) return std::nullopt;
  return std::max(*awaited_since_, witness.at) + limits_.absence;
}

void Supervisor::miss_absent(Time now) {
  for (std::size_t i = 0; i < evidence_.members.size(); ++i) {
    const Witness& witness = evidence_.members[i];
    const std::optional<Time> due = absence_due(witness);
    if (!due || now < *due) continue;
    lose(i, 1,
         Status(Code::kPeerLost,
                fmt::format("{} before it had joined the job, and other workers wait for it",
                            witness.exit->text()))
             .with_operation("start"),
         witness.at);
  }
}

Reaction Supervisor::on_never_ready(Status why, Time now) {
  if (phase_ == Phase::kStarting && !failed()) {
    lose(0, 1, std::move(why).with_operation("start"), now);
  }
  return advance(now);
}

Reaction Supervisor::on_ended(std::span<const Ended> ended, std::size_t orphans, Time now) {
  orphans_ = orphans;
  Reaction reaction;
  for (const Ended& one : ended) record(one, now, reaction);
  Reaction next = advance(now);
  reaction.orders.insert(reaction.orders.end(), next.orders.begin(), next.orders.end());
  reaction.notes.insert(reaction.notes.end(), next.notes.begin(), next.notes.end());
  return reaction;
}

void Supervisor::record(const Ended& ended, Time now, Reaction& reaction) {
  Witness& witness = evidence_.members[ended.member];
  STRETTO_CHECK(witness.life == Life::kAlive);
  witness.life = Life::kEnded;
  witness.exit = ended.exit;
  witness.at = now;
  // A wrapper, such as a shell, dies of the notice that what it runs has not had: unless it was
  // SIGINT, it went to the wrapper alone.
  if (phase_ == Phase::kStopping && stop_signal_ != SIGINT && ended.exit.by_signal &&
      ended.exit.number == stop_signal_) {
    reaction.orders.push_back({ended.member, stop_signal_, Order::Scope::kGroup});
    await_orphans_ = true;
  }
  if (phase_ == Phase::kStarting && witness.member.role == Role::kScheduler) {
    lose(ended.member, ended.exit.failed() ? ended.exit.status() : 1,
         Status(Code::kSchedulerLost, ended.exit.text() + " before it said where it listens")
             .with_operation("start"),
         now);
  }
}

Reaction Supervisor::on_signal(int signal, Time now) {
  if (!evidence_.interrupt) {
    evidence_.interrupt = signal;
    interrupted_at_ = now;
  } else if (signal == SIGINT && now >= *interrupted_at_ + kSecondInterrupt) {
    impatient_ = true;
  }
  return advance(now);
}

// As if it had been heard of in time: then ends a moment ago are answers to it.
Reaction Supervisor::on_notice(int signal, Time now) {
  for (Witness& witness : evidence_.members) {
    const bool just_now = witness.life == Life::kEnded && now - witness.at <= kHindsight;
    if (stop_signal_ == 0 && just_now && explained_by(witness, signal)) {
      witness.told = true;
      witness.said.reset();
    }
  }
  return on_signal(signal, now);
}

Reaction Supervisor::on_statement(std::size_t member, Statement statement, Time now) {
  Witness& witness = evidence_.members[member];
  if (!witness.told) witness.said = std::move(statement);
  return advance(now);
}

Reaction Supervisor::advance(Time now) {
  Reaction reaction;
  miss_absent(now);
  const std::vector<std::size_t> buried = bury(now, reaction);
  std::string loss = news();
  const Phase met = phase_;
  // Each phase is entered once, so this ends.
  for (Phase before = Phase::kOver; before != phase_ && phase_ != Phase::kOver;) {
    before = phase_;
    transit(now, reaction);
  }
  for (const std::size_t member : buried) {
    loss += fmt::format("{}sent SIGKILL to {}", loss.empty() ? "" : "; ",
                        label_of(evidence_.members[member].member));
  }
  if (!loss.empty()) {
    if (met == Phase::kRunning && phase_ == Phase::kSettling) {
      loss += fmt::format("; the others have {} s to end by themselves", seconds(patience()));
    }
    reaction.notes.insert(reaction.notes.begin(), std::move(loss));
  }
  return reaction;
}

// Whoever is lost to the others is not asked to end: it cannot hear, or not obey. A moment is left
// to those whose links have ended because they are about to end themselves.
std::vector<std::size_t> Supervisor::bury(Time now, Reaction& reaction) {
  std::vector<std::size_t> lost =
      stop_signal_ == 0 ? given_up(evidence_) : std::vector<std::size_t>();
  if (lost.empty()) bury_at_.reset();
  if (lost.empty()) return {};
  if (!bury_at_) bury_at_ = now + kHindsight;
  if (now < *bury_at_) return {};
  for (const std::size_t member : lost) {
    evidence_.members[member].told = true;
    reaction.orders.push_back({member, SIGKILL, Order::Scope::kGroup});
  }
  return lost;
}

// Who is lost, and how that is known, in words; empty if that has been said.
std::string Supervisor::news() {
  if (stop_signal_ != 0 || phase_ == Phase::kStarting || hopeless_ || !failed()) return {};
  const Verdict verdict = cause_of(evidence_);
  const bool once = workers_succeeded() && !announced_.empty();
  if (once || std::find(announced_.begin(), announced_.end(), verdict.who) != announced_.end()) {
    return {};
  }
  announced_.push_back(verdict.who);
  return (workers_succeeded() ? "warning: " : "") + verdict.sentence();
}

void Supervisor::transit(Time now, Reaction& reaction) {
  const bool late = deadline_ && now >= *deadline_;
  const std::optional<int>& interrupt = evidence_.interrupt;
  switch (phase_) {
    case Phase::kStarting:
      if (late && !failed() && !interrupt) {
        lose(0, 1,
             Status(Code::kRendezvousTimeout,
                    fmt::format("did not say where it listens within {} s", seconds(limits_.start)))
                 .with_operation("start"),
             now);
      }
      if (failed() || interrupt) stop(interrupt.value_or(SIGTERM), now, reaction);
      return;
    case Phase::kRunning:
      if (interrupt || hopeless_) {
        stop(interrupt.value_or(SIGTERM), now, reaction);
      } else if (all_ended()) {
        enter(Phase::kOver, std::nullopt);
      } else if (workers_succeeded()) {
        be_patient(Phase::kDraining, now);
      } else if (failed()) {
        be_patient(Phase::kSettling, now);
      }
      return;
    case Phase::kSettling:
    case Phase::kDraining:
      if (all_ended()) {
        enter(Phase::kOver, std::nullopt);
      } else if (late || interrupt) {
        if (!interrupt) reaction.notes.push_back(why_impatient());
        stop(interrupt.value_or(SIGTERM), now, reaction);
      }
      return;
    case Phase::kStopping:
      if (all_ended() && (orphans_ == 0 || !await_orphans_)) {
        enter(Phase::kOver, std::nullopt);
      } else if (late || impatient_) {
        kill(now, reaction);
      }
      return;
    case Phase::kKilling:
      if (!all_ended() && !late) return;
      if (!all_ended()) {
        reaction.notes.push_back("warning: the kernel does not end " + alive_names());
      }
      enter(Phase::kOver, std::nullopt);
      return;
    case Phase::kOver:
      return;
  }
}

void Supervisor::enter(Phase phase, std::optional<Time> deadline) {
  phase_ = phase;
  deadline_ = deadline;
}

void Supervisor::be_patient(Phase phase, Time now) {
  phase_ = phase;
  patient_since_ = now;
  deadline_ = now + patience();
}

Duration Supervisor::patience() const {
  const Duration limit = phase_ == Phase::kSettling ? limits_.settle : limits_.drain;
  return gathered_ ? limit : std::min(limit, limits_.apart);
}

std::string Supervisor::why_impatient() const {
  if (phase_ == Phase::kDraining && !gathered_) {
    return "all workers have ended, and never came together in a job: nobody needs its servers";
  }
  return fmt::format("warning: still running {} s after the {}: {}", seconds(patience()),
                     phase_ == Phase::kSettling ? "first failure" : "last worker", alive_names());
}

// SIGINT goes where a terminal sends it, to everybody in the group. Other notices go to the process
// alone: helpers such as data loaders must work on while it finishes its step.
Order Supervisor::notice(std::size_t member, int signal) const {
  const bool alone = is_alive(member) && signal != SIGINT;
  return {member, signal, alone ? Order::Scope::kProcess : Order::Scope::kGroup};
}

// Workers, which come last, are told first: else they would fail of servers that have gone already,
// and end by that instead of by the notice.
void Supervisor::stop(int signal, Time now, Reaction& reaction) {
  stop_signal_ = signal;
  for (std::size_t i = evidence_.members.size(); i-- > 0;) {
    if (evidence_.members[i].life == Life::kUnborn) continue;
    reaction.orders.push_back(notice(i, signal));
    // A scheduler that is silent, or talks nonsense, has failed before.
    if (is_alive(i) && evidence_.members[i].lost.ok()) evidence_.members[i].told = true;
  }
  if (!all_ended()) {
    reaction.notes.push_back(fmt::format("sent {} to {}; SIGKILL follows after {} s",
                                         signal_name(signal), alive_names(),
                                         seconds(limits_.grace)));
  }
  enter(Phase::kStopping, now + limits_.grace);
}

void Supervisor::kill(Time now, Reaction& reaction) {
  for (std::size_t i = 0; i < evidence_.members.size(); ++i) {
    if (evidence_.members[i].life == Life::kUnborn) continue;
    reaction.orders.push_back({i, SIGKILL, Order::Scope::kGroup});
  }
  if (!all_ended()) reaction.notes.push_back("sent SIGKILL to " + alive_names());
  enter(Phase::kKilling, now + limits_.reap);
}

bool Supervisor::failed() const {
  return std::any_of(evidence_.members.begin(), evidence_.members.end(),
                     [](const Witness& witness) { return witness.failed_by_itself(); });
}

bool Supervisor::all_ended() const {
  return std::none_of(evidence_.members.begin(), evidence_.members.end(),
                      [](const Witness& witness) { return witness.life == Life::kAlive; });
}

std::string Supervisor::alive_names() const {
  std::string names;
  std::size_t count = 0;
  for (const Witness& witness : evidence_.members) {
    if (witness.life != Life::kAlive || ++count > kMaxNames) continue;
    if (!names.empty()) names += ", ";
    names += label_of(witness.member);
  }
  if (count > kMaxNames) names += fmt::format(" and {} more", count - kMaxNames);
  return names;
}

std::optional<Time> Supervisor::deadline() const {
  std::optional<Time> first;
  const auto consider = [&first](std::optional<Time> due) {
    if (due && (!first || *due < *first)) first = due;
  };
  consider(deadline_);
  consider(bury_at_);
  for (const Witness& witness : evidence_.members) consider(absence_due(witness));
  return first;
}

Duration Supervisor::silence_limit() const {
  const bool all_run =
      std::none_of(evidence_.members.begin(), evidence_.members.end(),
                   [](const Witness& witness) { return witness.life == Life::kEnded; });
  return all_run ? limits_.silence : limits_.late_silence;
}

Verdict Supervisor::verdict() const {
  STRETTO_CHECK(over());
  return judge(evidence_);
}

}  // namespace stretto::launch
