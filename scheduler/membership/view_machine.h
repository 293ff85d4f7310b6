// SPDX-License-Identifier: Apache-2.0
// ViewMachine: decides who is in the job, from its begin to its end. Events go in, orders come out;
// it sends nothing and reads no clock, so the same events give the same views. Pure.
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

/// What a job's size does.
enum class Sizing {
  kFixed,    ///< Members keep their ranks, and who is lost ends the job, unless it is a server in
             ///< whose place another may come.
  kWorkers,  ///< Workers that are lost or leave are forgotten, down to JobSettings::min_workers.
             ///< Others come, and are in from a step on that nobody has begun.
  kElastic   ///< The same, but from a round on that is told; servers come and go, too.
};

/// Thread: loop.
class ViewMachine {
 public:
  enum class Phase {
    kGathering,
    kRunning,
    kDispersing,  ///< All workers have left; the servers are told to go.
    kFailing,     ///< Everybody is being told.
    kOver
  };

  ViewMachine(const Config& config, Time now, Sizing sizing = Sizing::kFixed);
  ViewMachine(const ViewMachine&) = delete;

  /// A `EndOfTurn` or `Tick` without orders has changed nothing: a journal may leave it out.
  std::vector<ViewOrder> on(const ViewEvent& event, Time now);
  /// When a `Tick` is due at the latest; suspicions are looked at by each one.
  Time next_due() const;

  Phase phase() const { return phase_; }
  /// Ok after an orderly end; else what every node is told.
  const Status& status() const { return status_; }
  /// As it was last published.
  const View& view() const { return view_; }
  /// As the next one will be: who has left just now has left here.
  const View& next_view() const { return next_; }
  const Admission& admission() const { return admission_; }
  const StepAdmission& entrance() const { return entrance_; }
  /// An identity for somebody who is no member.
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
  std::set<NodeId> changed_;            // From one to the other,
  std::map<NodeId, std::string> lost_;  // and of them those that were lost, with the cause.
  bool fenced_ = false;  // Frames that follow the view before must not be taken any more.
  std::set<NodeId> linked_;
  std::map<NodeId, Time> notices_;
  std::uint32_t finished_ = 0;  // Workers that have left in order, where these are forgotten.
  FaultReports faults_;
  StepAdmission entrance_;
  ServerFailover places_;
  const Spares spares_;
  const ViewDraft draft_{next_, slots_, admission_, changed_, lost_, linked_};
  std::vector<ViewOrder> orders_;
};

}  // namespace stretto
