// SPDX-License-Identifier: Apache-2.0
// Scheduler: passes nodes' messages to the components that decide, ViewMachine on membership and
// Coordination on tensors and barriers, and their decisions to nodes. It never sees tensor data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/launch_protocol/status_lines.h"
#include "common/logged_count.h"
#include "scheduler/checkpoint/checkpoint_keeper.h"
#include "scheduler/coordination/coordination.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/launcher/exit_notices.h"
#include "scheduler/launcher/replacement_ends.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/migration/migration_service.h"
#include "scheduler/monitoring/job_monitor.h"
#include "scheduler/observers/observer_service.h"
#include "scheduler/recovery/comebacks.h"
#include "scheduler/sessions/join_queue.h"
#include "scheduler/sessions/missing_members.h"
#include "scheduler/sessions/node_links.h"
#include "van/engine/van.h"
#include "van/event_loop/loop.h"
#include "van/membership/membership_client.h"

namespace stretto {

/// How far the job has formed.
JobFormation gathering_of(const ViewMachine& machine);

/// Thread: loop.
class Scheduler final : public LoopTask, private Van::Handler {
 public:
  /// `ends`: source of exit reports, outlives this; null: none. The files outlive this, too.
  Scheduler(const Config& config, std::unique_ptr<Transport> transport, const Clock& clock,
            ExitNotices* ends = nullptr, const CheckpointKeeper::Files& files = {},
            RecoveredState past = {});

  /// Takes over from a previous scheduler, from the end of its journal. Call before listen().
  Status recover(const std::vector<JournalRecord>& records);

  Result<std::string> listen(std::string_view address);
  void step(Duration wait) override;
  Time next_due() const override;
  bool over() const override { return machine_.phase() == ViewMachine::Phase::kOver; }

  /// Ok after an orderly end; else the failure sent to every node.
  const Status& status() const { return machine_.status(); }
  /// Ends the job with an error, sent to all nodes. For signals.
  void stop(Status why) { happened(Stop{std::move(why)}); }
  const Van& van() const { return van_; }
  const JobMonitor& watch() const { return watch_; }
  const MigrationService& moves() const { return moves_; }
  const View& view() const { return machine_.view(); }
  const ViewMachine& machine() const { return machine_; }
  std::string_view phase() const { return name_of(machine_.phase()); }
  /// Starts a trace, for the live page.
  Status start_trace(std::uint32_t iterations, std::uint32_t seconds);
  std::map<std::uint32_t, std::string> tensor_names() const;

 private:
  void on_control(LinkId link, const control::Message& message) override;
  void on_data(LinkId link, const wire::Header& header, Buffer payload) override;
  void on_acked(LinkId, wire::PushTag) override {}
  void on_broken(LinkId link, const Status& why) override;
  void before_sending() override;

  void on_hello(LinkId link, const control::Hello& hello);
  void happened(const ViewEvent& event);
  void publish(const Publish& order);
  void tick();

  const Config& config_;
  const Clock& clock_;
  ExitNotices* const ends_;
  Van van_;
  const std::uint64_t job_;
  Time next_look_;
  NodeLinks links_;
  ViewMachine machine_;
  MembershipJournal chronicle_;
  Coordination agreements_;
  CheckpointKeeper checkpoints_;
  JobMonitor watch_;
  MigrationService moves_;
  ObserverService onlookers_;
  JoinQueue waiting_;
  MissingMembers missing_;
  ReplacementEnds replacements_;
  std::uint32_t waited_in_ = 0;  // The view in which waiting workers were last retried.
  SuspendDetector wakefulness_;
  Comebacks comebacks_;
  LoggedCount refused_;
};

}  // namespace stretto
