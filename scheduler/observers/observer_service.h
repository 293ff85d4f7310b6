// SPDX-License-Identifier: Apache-2.0
// ObserverService: the links of observers, their hellos, requests and answers, and the trace
// commands to nodes.
#pragma once

#include <string_view>

#include "common/clock.h"
#include "common/config/config.h"
#include "scheduler/coordination/coordination.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/migration/migration_service.h"
#include "scheduler/monitoring/job_monitor.h"
#include "scheduler/observers/observers.h"
#include "scheduler/sessions/node_links.h"
#include "van/engine/van.h"

namespace stretto {

/// "gathering", "running", ...
std::string_view name_of(ViewMachine::Phase phase);

/// Thread: loop.
class ObserverService {
 public:
  /// All outlive this.
  struct Job {
    const Config& config;
    const Clock& clock;
    Van& van;
    const NodeLinks& links;
    ViewMachine& machine;
    MembershipJournal& chronicle;
    const Coordination& agreements;
    JobMonitor& watch;
    MigrationService& moves;
  };

  explicit ObserverService(const Job& job) : job_(job) {}

  void greet(LinkId link, const control::Hello& hello);
  bool has(LinkId link) const { return observers_.has(link); }
  void remove(LinkId link) {
    observers_.remove(link);
    job_.moves.forget(link);
  }
  void hear(LinkId link, const control::Message& message);
  /// Sends nodes the trace commands that are due.
  void go_on_tracing();

 private:
  const Job job_;
  Observers observers_;
};

}  // namespace stretto
