// SPDX-License-Identifier: Apache-2.0
// The rules of supervision; all transitions are in Supervisor::transit.
#include "tools/launch/supervisor.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "common/check.h"
#include "common/clock.h"
#include "common/program.h"

namespace stretto::launch {
namespace {

// A terminal and a wrapper may both pass on one Ctrl-C; only a later one is a second.
constexpr Duration kSecondInterrupt = 1s;
constexpr std::size_t kMaxNames = 8;
constexpr int kSignalBase = 128;  // Of the status of who died of a signal, as shells tell it.

Code code_of(Role role) {
  if (role == Role::kServer) return Code::kServerLost;
  return role == Role::kScheduler ? Code::kSchedulerLost : Code::kPeerLost;
}

// Of failures seen in one look, which is the likeliest cause: a signal's death cannot be an answer
// to another's failure. Servers and scheduler say by their status that they only followed.
constexpr int kFollowed = 4;

int suspicion(const Member& member, const Exit& exit) {
  if (exit.by_signal) return 0;
  if (member.role == Role::kWorker) return 1;
  if (exit.number == kExitOfLoss) return kFollowed;
  return member.role == Role::kServer ? 2 : 3;
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string Exit::text() const {
  if (by_signal) return fmt::format("killed by {}", signal_name(number));
  return fmt::format("exited with status {}", number);
}

Supervisor::Supervisor(std::vector<Member> members, const Limits& limits, Time now)
    : members_(std::move(members)),
      limits_(limits),
      deadline_(now + limits.start),
      lives_(members_.size(), Life::kUnborn) {
  STRETTO_CHECK(!members_.empty() && members_[0].role == Role::kScheduler);
  workers_left_ = static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(),
                    [](const Member& member) { return member.role == Role::kWorker; }));
}

void Supervisor::on_spawned(std::size_t member) {
  STRETTO_CHECK(lives_[member] == Life::kUnborn);
  lives_[member] = Life::kAlive;
  ++alive_;
}

Reaction Supervisor::on_refused(std::size_t member, int exit_status, Status why, Time now) {
  hopeless_ = true;
  if (lives_[member] == Life::kAlive) {
    lives_[member] = Life::kEnded;
    --alive_;
  }
  fail({member, exit_status, std::move(why).with_operation("start")});
  return advance(now);
}

Reaction Supervisor::on_host_lost(std::span<const std::size_t> members, Status why, Time since,
                                  Time now) {
  STRETTO_CHECK(!members.empty());
  const bool unborn = lives_[members.front()] == Life::kUnborn;
  std::size_t who = members.front();
  bool mattered = unborn;
  for (const std::size_t member : members) {
    if (lives_[member] != Life::kAlive) continue;
    if (!mattered) who = member;
    mattered = true;
    lives_[member] = Life::kEnded;
    --alive_;
  }
  // Others may have been seen to end first, because of it.
  const bool was_the_cause = first_ && stop_signal_ == 0 && first_->suspicion > 0 &&
                             (first_->suspicion == kFollowed || since - first_->at <= kHindsight);
  if (mattered && was_the_cause) first_.reset();
  if (unborn) hopeless_ = true;
  if (mattered) {
    fail({who, 1, std::move(why).with_operation(unborn ? "start" : "run"), 0, now});
  }
  return advance(now);
}

void Supervisor::on_ready() {
  if (phase_ == Phase::kStarting) enter(Phase::kRunning, std::nullopt);
}

void Supervisor::on_gathered() {
  gathered_ = true;
  if (phase_ == Phase::kSettling || phase_ == Phase::kDraining) be_patient(phase_, patient_since_);
}

Reaction Supervisor::on_never_ready(Status why, Time now) {
  if (phase_ == Phase::kStarting) fail({0, 1, std::move(why).with_operation("start")});
  return advance(now);
}

Reaction Supervisor::on_ended(std::span<const Ended> ended, std::size_t orphans, Time now) {
  std::vector<Ended> round(ended.begin(), ended.end());
  std::stable_sort(round.begin(), round.end(), [this](const Ended& a, const Ended& b) {
    return suspicion(members_[a.member], a.exit) < suspicion(members_[b.member], b.exit);
  });
  orphans_ = orphans;
  Reaction reaction;
  for (const Ended& one : round) record(one, now, reaction);
  Reaction next = advance(now);
  reaction.orders.insert(reaction.orders.end(), next.orders.begin(), next.orders.end());
  reaction.notes.insert(reaction.notes.end(), next.notes.begin(), next.notes.end());
  return reaction;
}

void Supervisor::record(const Ended& ended, Time now, Reaction& reaction) {
  STRETTO_CHECK(lives_[ended.member] == Life::kAlive);
  lives_[ended.member] = Life::kEnded;
  --alive_;
  const Member& member = members_[ended.member];
  if (member.role == Role::kWorker && !ended.exit.failed()) --workers_left_;
  // A wrapper, such as a shell, dies of the notice that what it runs has not had: unless it was
  // SIGINT, it went to the wrapper alone.
  if (phase_ == Phase::kStopping && stop_signal_ != SIGINT && ended.exit.by_signal &&
      ended.exit.number == stop_signal_) {
    reaction.orders.push_back({ended.member, stop_signal_, Order::Scope::kGroup});
    await_orphans_ = true;
  }
  const bool too_early = phase_ == Phase::kStarting && member.role == Role::kScheduler;
  if (!ended.exit.failed() && !too_early) return;
  // Once all were told to end, how servers and scheduler do it says nothing about the job.
  if (stop_signal_ != 0 && member.role != Role::kWorker) return;
  if (!first_ && stop_signal_ == 0) {
    reaction.notes.push_back(fmt::format("{}{} {}", workers_succeeded() ? "warning: " : "",
                                         label_of(member), ended.exit.text()));
  }
  // A process's connections end a moment before its exit can be seen: those who failed because of
  // it may be seen first. Those who say that they only followed are never the cause of a failure.
  const int suspected = suspicion(member, ended.exit);
  const bool was_the_cause = first_ && stop_signal_ == 0 && suspected < first_->suspicion &&
                             (first_->suspicion == kFollowed || now - first_->at <= kHindsight);
  if (was_the_cause) first_.reset();
  std::string cause = ended.exit.text();
  if (too_early) cause += " before it said where it listens";
  const int status = ended.exit.failed() ? ended.exit.status() : 1;
  fail({ended.member, status,
        Status(code_of(member.role), std::move(cause)).with_operation(too_early ? "start" : "run"),
        suspected, now});
}

void Supervisor::fail(Failure failure) {
  if (first_) return;
  if (interrupt_) {
    failure.error =
        Status(Code::kInterrupted, fmt::format("{} after the launcher was sent {}",
                                               failure.error.cause(), signal_name(*interrupt_)))
            .with_operation(failure.error.operation());
  }
  first_ = std::move(failure);
}

Reaction Supervisor::on_signal(int signal, Time now) {
  if (!interrupt_) {
    interrupt_ = signal;
    interrupted_at_ = now;
  } else if (signal == SIGINT && now >= *interrupted_at_ + kSecondInterrupt) {
    impatient_ = true;
  }
  return advance(now);
}

// As if it had been heard of in time: then the ends of servers and scheduler would say nothing.
Reaction Supervisor::on_notice(int signal, Time now) {
  const bool too_late = !interrupt_ && first_ && stop_signal_ == 0 &&
                        now - first_->at <= kHindsight &&
                        (first_->suspicion > 0 || first_->exit_status == kSignalBase + signal);
  if (!too_late) return on_signal(signal, now);
  Failure failure = std::move(*first_);
  first_.reset();
  interrupt_ = signal;
  interrupted_at_ = now;
  if (members_[failure.member].role == Role::kWorker) fail(std::move(failure));
  return advance(now);
}

Reaction Supervisor::advance(Time now) {
  Reaction reaction;
  // Each phase is entered once, so this ends.
  for (Phase before = Phase::kOver; before != phase_ && phase_ != Phase::kOver;) {
    before = phase_;
    transit(now, reaction);
  }
  return reaction;
}

void Supervisor::transit(Time now, Reaction& reaction) {
  const bool late = deadline_ && now >= *deadline_;
  switch (phase_) {
    case Phase::kStarting:
      if (late && !first_ && !interrupt_) {
        fail(
            {0, 1,
             Status(Code::kRendezvousTimeout,
                    fmt::format("did not say where it listens within {} s", seconds(limits_.start)))
                 .with_operation("start")});
      }
      if (first_ || interrupt_) stop(interrupt_.value_or(SIGTERM), now, reaction);
      return;
    case Phase::kRunning:
      if (interrupt_ || hopeless_) {
        stop(interrupt_.value_or(SIGTERM), now, reaction);
      } else if (all_ended()) {
        enter(Phase::kOver, std::nullopt);
      } else if (workers_succeeded()) {
        be_patient(Phase::kDraining, now);
      } else if (first_) {
        be_patient(Phase::kSettling, now);
        reaction.notes.push_back(
            fmt::format("the others have {} s to end by themselves", seconds(patience())));
      }
      return;
    case Phase::kSettling:
    case Phase::kDraining:
      if (all_ended()) {
        enter(Phase::kOver, std::nullopt);
      } else if (late || interrupt_) {
        if (!interrupt_) reaction.notes.push_back(why_impatient());
        stop(interrupt_.value_or(SIGTERM), now, reaction);
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
  const bool alone = lives_[member] == Life::kAlive && signal != SIGINT;
  return {member, signal, alone ? Order::Scope::kProcess : Order::Scope::kGroup};
}

// Workers, which come last, are told first: else they would fail of servers that have gone already,
// and end by that instead of by the notice.
void Supervisor::stop(int signal, Time now, Reaction& reaction) {
  stop_signal_ = signal;
  for (std::size_t i = members_.size(); i-- > 0;) {
    if (lives_[i] != Life::kUnborn) reaction.orders.push_back(notice(i, signal));
  }
  if (alive_ > 0) {
    reaction.notes.push_back(fmt::format("sent {} to {}; SIGKILL follows after {} s",
                                         signal_name(signal), alive_names(),
                                         seconds(limits_.grace)));
  }
  enter(Phase::kStopping, now + limits_.grace);
}

void Supervisor::kill(Time now, Reaction& reaction) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (lives_[i] == Life::kUnborn) continue;
    reaction.orders.push_back({i, SIGKILL, Order::Scope::kGroup});
  }
  if (alive_ > 0) reaction.notes.push_back("sent SIGKILL to " + alive_names());
  enter(Phase::kKilling, now + limits_.reap);
}

bool Supervisor::all_ended() const { return alive_ == 0; }

bool Supervisor::workers_succeeded() const { return workers_left_ == 0; }

std::string Supervisor::alive_names() const {
  std::string names;
  std::size_t count = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (lives_[i] != Life::kAlive) continue;
    if (++count > kMaxNames) continue;
    if (!names.empty()) names += ", ";
    names += label_of(members_[i]);
  }
  if (count > kMaxNames) names += fmt::format(" and {} more", count - kMaxNames);
  return names;
}

Verdict Supervisor::verdict() const {
  STRETTO_CHECK(over());
  if (workers_succeeded()) return {};
  if (first_) return {first_->exit_status, first_->error, members_[first_->member]};
  const auto cause = [](std::string_view what) { return fmt::format("{} was not ended", what); };
  // Interrupted before any worker ran, or workers that even SIGKILL did not end.
  const int signal = interrupt_.value_or(SIGKILL);
  const auto left = std::find(lives_.begin(), lives_.end(), Life::kAlive);
  const std::size_t who =
      left == lives_.end() ? 0 : static_cast<std::size_t>(left - lives_.begin());
  return {kSignalBase + signal,
          Status(Code::kInterrupted,
                 left == lives_.end()
                     ? fmt::format("the launcher was sent {} before the workers had started",
                                   signal_name(signal))
                     : cause(label_of(members_[who])))
              .with_operation("run"),
          members_[who]};
}

}  // namespace stretto::launch
