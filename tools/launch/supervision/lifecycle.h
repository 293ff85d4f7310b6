// SPDX-License-Identifier: Apache-2.0
// Lifecycle: the phases of a launch, their time limits, and the action at the end of each. Facts
// about the job's processes, signals and the time go in, steps come out. Pure.
//
//   starting --ready--> running --last worker, all 0--> draining --+
//      |                   | failure                       | late   +-- all ended --> over
//      |                   v                               v       |
//      |                settling --late or a signal--> stopping ---+
//      +---- failure, late or a signal --------------------^ | late, or a signal again
//                                                            v
//                                                         killing -- late --> over
//
// SIGTERM to a job whose workers may leave has a phase before stopping: leaving. Only workers are
// asked to end, and servers and scheduler serve them until the last worker has ended.
//
// Until all nodes have joined, members do not learn of another's end, and servers may wait forever:
// settling and draining are shorter then.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// Thread: loop.
class Lifecycle {
 public:
  /// In order; each phase is entered at most once.
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
    kStop,         ///< Send stop_signal() to all members.
    kKill,         ///< Send SIGKILL to all members.
    kAbandon,      ///< Give up on processes that the kernel does not end.
  };
  /// The current state of the job.
  struct Facts {
    bool failed = false;    ///< Some process failed, in a way that ends the job.
    bool hopeless = false;  ///< The job was never complete: no time to settle.
    bool all_ended = false;
    bool workers_succeeded = false;
    bool may_leave = false;        ///< Workers can leave one by one.
    bool workers_ended = false;    ///< All workers.
    bool orphans_awaited = false;  ///< Orphans were asked to end, and still run.
  };

  Lifecycle(const Limits& limits, Time now) : limits_(limits), deadline_(now + limits.start) {}

  /// The scheduler listens.
  void on_ready();
  /// All nodes have joined.
  void on_gathered();
  /// The launcher was asked to end by this signal.
  void on_signal(int signal, Time now);
  /// Another sender signalled the processes of some host, possibly at different times.
  void on_notice(int signal);
  /// At most one transition; call it until the phase stays.
  Step step(const Facts& facts, Time now);

  Phase phase() const { return phase_; }
  /// The phase has exceeded its time limit.
  bool late(Time now) const { return deadline_ && now >= *deadline_; }
  std::optional<Time> deadline() const { return deadline_; }
  /// Time limit for settling or draining.
  Duration patience(Phase phase) const;
  bool interrupted() const { return interrupt_.has_value(); }
  /// Time until SIGKILL of the members that were asked last.
  Duration grace() const { return grace_; }
  /// The signal sent to all members, or to workers first; none: not sent.
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
  std::optional<Time> asked_;   // When the launcher's first signal arrived.
  bool impatient_ = false;      // A second signal arrived.
  bool workers_ended_ = false;  // In phase kLeaving,
  Time leaving_since_ = {};     // since this time.
  Duration grace_{};
  std::optional<int> stop_signal_;
};

}  // namespace stretto::launch
