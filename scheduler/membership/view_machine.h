// SPDX-License-Identifier: Apache-2.0
// ViewMachine: decides the membership of a job from start to end. Events go in, orders come out; it
// sends nothing and reads no clock, so the same events give the same views. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/view.h"
#include "scheduler/membership/admission.h"
#include "scheduler/membership/fault_reports.h"
#include "scheduler/membership/server_failover.h"
#include "scheduler/membership/slot_table.h"
#include "scheduler/membership/step_admission.h"
#include "scheduler/membership/view_changes.h"
#include "scheduler/membership/view_events.h"

namespace stretto {

/// How a job's size may change.
enum class Sizing {
  kFixed,    ///< Members keep their ranks. A failure ends the job, except that of a server
             ///< that can be replaced.
  kWorkers,  ///< Workers that fail or leave are forgotten, down to JobSettings::min_workers.
             ///< Other workers join, from a step on that no worker has begun.
  kElastic   ///< Like kWorkers, but from a published round on; servers join and leave, too.
};

/// Thread: loop.
class ViewMachine {
 public:
  enum class Phase {
    kGathering,
    kRunning,
    kDispersing,  ///< All workers have left; the servers are told to leave.
    kFailing,     ///< All members are being told.
    kOver
  };

  ViewMachine(const Config& config, Time now, Sizing sizing = Sizing::kFixed);
  ViewMachine(const ViewMachine&) = delete;

  /// An `EndOfTurn` or `Tick` without orders has changed nothing: a journal may leave it out.
  std::vector<ViewOrder> on(const ViewEvent& event, Time now);
  /// When a `Tick` is due at the latest; each tick checks the suspicions.
  Time next_due() const;

  Phase phase() const { return phase_; }
  /// Ok after an orderly end; else the failure that every node is told.
  const Status& status() const { return status_; }
  /// As last published.
  const View& view() const { return view_; }
  /// As the next view will be: a member that has just left has left here.
  const View& next_view() const { return next_; }
  const Admission& admission() const { return admission_; }
  const StepAdmission& entrance() const { return entrance_; }
  /// A node id for a process that is not a member.
  NodeId identity() { return admission_.identity(); }

 private:
  void take(const Join& join);
  void take(const Left& leave);
  void take(const Disconnected& gone);
  void take(const Lost& lost);
  void take(const StepReport& told);
  void take(const Moved& moved);
  void take(const DrainNotice& notice);
  void take(const Suspicion& suspicion);
  void take(const NewTensor& tensor);
  void take(const EndOfTurn&);
  void take(const Tick& time);

  void disperse();
  void remove(NodeId node, std::uint64_t round);
  void end(Status why);
  void publish();

  const Config& config_;
  const Sizing sizing_;
  Phase phase_ = Phase::kGathering;
  Status status_;
  Time now_;
  Time deadline_;  // Of gathering, dispersing or failing.
  Admission admission_;
  SlotTable slots_;
  View view_;
  View next_;
  std::set<NodeId> changed_;            // Members that differ between the two,
  std::map<NodeId, std::string> lost_;  // and those of them that have failed, with the cause.
  bool fenced_ = false;                 // Frames of the previous view must be rejected.
  std::set<NodeId> linked_;
  std::map<NodeId, Time> notices_;
  std::uint32_t finished_ = 0;  // Workers that have left in order and were forgotten.
  FaultReports faults_;
  StepAdmission entrance_;
  ServerFailover places_;
  const Spares spares_;
  const ViewDraft draft_{next_, slots_, admission_, changed_, lost_, linked_};
  std::vector<ViewOrder> orders_;
};

}  // namespace stretto
