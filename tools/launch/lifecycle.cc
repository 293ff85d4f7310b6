// SPDX-License-Identifier: Apache-2.0
// All transitions are in Lifecycle::step.
#include "tools/launch/lifecycle.h"

#include <signal.h>

#include <algorithm>

#include "common/check.h"
#include "common/clock.h"

namespace stretto::launch {
namespace {

// A terminal and a wrapper may both pass on one Ctrl-C; only a later one is a second.
constexpr Duration kSecondInterrupt = 1s;

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
  if (!interrupt_) {
    interrupt_ = signal;
    interrupted_at_ = now;
  } else if (signal == SIGINT && now >= interrupted_at_ + kSecondInterrupt) {
    impatient_ = true;
  }
}

Lifecycle::Step Lifecycle::step(const Facts& facts, Time now) {
  switch (phase_) {
    case Phase::kStarting:
      return facts.failed || interrupt_ ? stop(now) : Step::kNone;
    case Phase::kRunning:
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
    case Phase::kStopping:
      if (facts.all_ended && !facts.orphans_awaited) {
        enter(Phase::kOver, std::nullopt);
        return Step::kNone;
      }
      if (!late(now) && !impatient_) return Step::kNone;
      enter(Phase::kKilling, now + limits_.reap);
      return Step::kKill;
    case Phase::kKilling:
      if (!facts.all_ended && !late(now)) return Step::kNone;
      enter(Phase::kOver, std::nullopt);
      return facts.all_ended ? Step::kNone : Step::kAbandon;
    case Phase::kOver:
      break;
  }
  return Step::kNone;
}

Lifecycle::Step Lifecycle::stop(Time now) {
  stop_signal_ = interrupt_.value_or(SIGTERM);
  enter(Phase::kStopping, now + limits_.grace);
  return Step::kStop;
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
