// SPDX-License-Identifier: Apache-2.0
// Onlookers: the links of tools that look at a job, and of what its members note for them: who
// greets, what is asked and answered, and what a trace wants of nodes.
#pragma once

#include <string_view>

#include "common/clock.h"
#include "common/config/config.h"
#include "scheduler/coordination/agreements.h"
#include "scheduler/journal/chronicle.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/migration/move_desk.h"
#include "scheduler/monitoring/job_watch.h"
#include "scheduler/observers/observers.h"
#include "scheduler/sessions/node_links.h"
#include "van/engine/van.h"

namespace stretto {

/// "gathering", "running", ...
std::string_view name_of(ViewMachine::Phase phase);

/// Thread: loop.
class Onlookers {
 public:
  /// All outlive this.
  struct Job {
    const Config& config;
    const Clock& clock;
    Van& van;
    const NodeLinks& links;
    ViewMachine& machine;
    Chronicle& chronicle;
    const Agreements& agreements;
    JobWatch& watch;
    MoveDesk& moves;
  };

  explicit Onlookers(const Job& job) : job_(job) {}

  void greet(LinkId link, const control::Hello& hello);
  bool has(LinkId link) const { return observers_.has(link); }
  void remove(LinkId link) {
    observers_.remove(link);
    job_.moves.forget(link);
  }
  void hear(LinkId link, const control::Message& message);
  /// Says to nodes what their trace wants of them now.
  void go_on_tracing();

 private:
  const Job job_;
  Observers observers_;
};

}  // namespace stretto
