// SPDX-License-Identifier: Apache-2.0
// Lifecycle: the phases of a launch, how long each may last, and what is to be done where one ends.
// Facts about the job's processes, signals and the time go in, steps come out. Pure.
//
//   starting --ready--> running --last worker, all 0--> draining --+
//      |                   | failure                       | late   +-- all ended --> over
//      |                   v                               v       |
//      |                settling --late or a signal--> stopping ---+
//      +---- failure, late or a signal --------------------^ | late, or a signal again
//                                                            v
//                                                         killing -- late --> over
//
// SIGTERM to a job whose workers may leave has a phase before stopping: leaving. Workers alone are
// told to end, and servers and scheduler serve them until the last one has ended.
//
// Until all nodes have come to the scheduler nobody hears of another's end, and servers wait for a
// job that may never be: settling and draining are shorter then.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// Thread: loop.
class Lifecycle {
 public:
  /// In the order in which they may be entered, each at most once.
  enum class Phase : std::uint8_t {
    kStarting,
    kRunning,
    kSettling,
    kDraining,
    kLeaving,
    kStopping,
    kKilling,
    kOver
  };
  enum class Step : std::uint8_t {
    kNone,
    kStopWorkers,  ///< Send stop_signal() to workers.
    kStop,         ///< Send stop_signal() to everybody.
    kKill,         ///< Send SIGKILL to everybody.
    kAbandon,      ///< The kernel does not end what still runs: go without it.
  };
  /// What is so now.
  struct Facts {
    bool failed = false;    ///< Some process has, in a way that ends the job.
    bool hopeless = false;  ///< The job never came together: no time to settle.
    bool all_ended = false;
    bool workers_succeeded = false;
    bool may_leave = false;        ///< Workers can leave one by one.
    bool workers_ended = false;    ///< Each of them.
    bool orphans_awaited = false;  ///< Left-behind processes were told to end, and have not.
  };

  Lifecycle(const Limits& limits, Time now) : limits_(limits), deadline_(now + limits.start) {}

  /// The scheduler listens.
  void on_ready();
  /// All nodes have come together.
  void on_gathered();
  /// The launcher was asked to end by this signal.
  void on_signal(int signal, Time now);
  /// Processes of some host were, by another sender, which may tell hosts at different times.
  void on_notice(int signal);
  /// One transition at most; to be called until the phase stays.
  Step step(const Facts& facts, Time now);

  Phase phase() const { return phase_; }
  /// The phase has lasted too long.
  bool late(Time now) const { return deadline_ && now >= *deadline_; }
  std::optional<Time> deadline() const { return deadline_; }
  /// For how long the job may settle or drain.
  Duration patience(Phase phase) const;
  bool interrupted() const { return interrupt_.has_value(); }
  /// How long the members that were told last have until SIGKILL.
  Duration grace() const { return grace_; }
  /// What everybody was told to end by, or workers first; none: nobody was.
  std::optional<int> stop_signal() const { return stop_signal_; }

 private:
  void enter(Phase phase, std::optional<Time> deadline);
  void be_patient(Phase phase, Time now);
  Step stop_workers(Time now);
  Step leave(const Facts& facts, Time now);
  Step kill(Time now);
  Step stop(Time now);

  const Limits limits_;
  Phase phase_ = Phase::kStarting;
  std::optional<Time> deadline_;
  Time patient_since_ = {};  // In phases kSettling and kDraining.
  bool gathered_ = false;
  std::optional<int> interrupt_;
  std::optional<Time> asked_;   // By the launcher's first signal, then.
  bool impatient_ = false;      // A signal came again.
  bool workers_ended_ = false;  // In phase kLeaving,
  Time leaving_since_ = {};     // which began then.
  Duration grace_{};
  std::optional<int> stop_signal_;
};

}  // namespace stretto::launch
