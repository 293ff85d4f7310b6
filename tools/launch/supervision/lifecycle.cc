// SPDX-License-Identifier: Apache-2.0
// All transitions are in Lifecycle::step.
#include "tools/launch/supervision/lifecycle.h"

#include <signal.h>

#include <algorithm>

#include "common/check.h"
#include "common/clock.h"

namespace stretto::launch {
namespace {

// A terminal and a wrapper may both forward one Ctrl-C; only a later signal is a second request.
constexpr Duration kSecondInterrupt = 1s;
// For servers and the scheduler to end by a signal after workers have used up the grace time.
constexpr Duration kLastGrace = 5s;

}  // namespace

void Lifecycle::on_ready() {
  if (phase_ == Phase::kStarting) enter(Phase::kRunning, std::nullopt);
}

void Lifecycle::on_gathered() {
  gathered_ = true;
  const bool patient = phase_ == Phase::kSettling || phase_ == Phase::kDraining;
  if (patient) deadline_ = patient_since_ + patience(phase_);
}

void Lifecycle::on_signal(int signal, Time now) {
  on_notice(signal);
  if (!asked_) {
    asked_ = now;
    return;
  }
  const bool again = signal == SIGINT || signal == SIGTERM;
  if (again && now >= *asked_ + kSecondInterrupt) impatient_ = true;
}

void Lifecycle::on_notice(int signal) {
  if (!interrupt_) interrupt_ = signal;
}

Lifecycle::Step Lifecycle::step(const Facts& facts, Time now) {
  switch (phase_) {
    case Phase::kStarting:
      return facts.failed || interrupt_ ? stop(now) : Step::kNone;
    case Phase::kRunning:
      if (interrupt_ == SIGTERM && facts.may_leave && !facts.hopeless && !facts.workers_ended) {
        return stop_workers(now);
      }
      if (facts.hopeless || interrupt_) return stop(now);
      if (facts.all_ended) {
        enter(Phase::kOver, std::nullopt);
      } else if (facts.workers_succeeded) {
        be_patient(Phase::kDraining, now);
      } else if (facts.failed) {
        be_patient(Phase::kSettling, now);
      }
      return Step::kNone;
    case Phase::kSettling:
    case Phase::kDraining:
      if (!facts.all_ended) return late(now) || interrupt_ ? stop(now) : Step::kNone;
      enter(Phase::kOver, std::nullopt);
      return Step::kNone;
    case Phase::kLeaving:
      return leave(facts, now);
    case Phase::kStopping:
      if (facts.all_ended && !facts.orphans_awaited) {
        enter(Phase::kOver, std::nullopt);
        return Step::kNone;
      }
      return late(now) || impatient_ ? kill(now) : Step::kNone;
    case Phase::kKilling:
      if (!facts.all_ended && !late(now)) return Step::kNone;
      enter(Phase::kOver, std::nullopt);
      return facts.all_ended ? Step::kNone : Step::kAbandon;
    case Phase::kOver:
      break;
  }
  return Step::kNone;
}

Lifecycle::Step Lifecycle::stop_workers(Time now) {
  stop_signal_ = interrupt_;
  leaving_since_ = now;
  grace_ = limits_.grace;
  enter(Phase::kLeaving, now + grace_);
  return Step::kStopWorkers;
}

// A job whose workers have left ends without further signals.
Lifecycle::Step Lifecycle::leave(const Facts& facts, Time now) {
  const bool workers_ended = facts.workers_ended && !facts.orphans_awaited;
  if (workers_ended && facts.all_ended) {
    enter(Phase::kOver, std::nullopt);
    return Step::kNone;
  }
  if (impatient_) return kill(now);
  if (workers_ended && !workers_ended_) {
    workers_ended_ = true;
    deadline_ = std::min(*deadline_, now + limits_.settle);
  }
  return late(now) ? stop(now) : Step::kNone;
}

Lifecycle::Step Lifecycle::stop(Time now) {
  stop_signal_ = interrupt_.value_or(SIGTERM);
  grace_ = limits_.grace;
  if (phase_ == Phase::kLeaving) {
    grace_ = std::max(leaving_since_ + limits_.grace - now, std::min(kLastGrace, limits_.grace));
  }
  enter(Phase::kStopping, now + grace_);
  return Step::kStop;
}

Lifecycle::Step Lifecycle::kill(Time now) {
  enter(Phase::kKilling, now + limits_.reap);
  return Step::kKill;
}

void Lifecycle::enter(Phase phase, std::optional<Time> deadline) {
  STRETTO_CHECK(phase > phase_);
  phase_ = phase;
  deadline_ = deadline;
}

void Lifecycle::be_patient(Phase phase, Time now) {
  patient_since_ = now;
  enter(phase, now + patience(phase));
}

Duration Lifecycle::patience(Phase phase) const {
  const Duration limit = phase == Phase::kSettling ? limits_.settle : limits_.drain;
  return gathered_ ? limit : std::min(limit, limits_.apart);
}

}  // namespace stretto::launch
