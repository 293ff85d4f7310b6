// SPDX-License-Identifier: Apache-2.0
// JobMonitor: the scheduler's view of a running job, by heartbeats: each worker's progress, waits
// and input, and the trace. It makes no decision on membership.
#pragma once

#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/launch_protocol/status_lines.h"
#include "scheduler/monitoring/blocked_calls.h"
#include "scheduler/monitoring/input_monitor.h"
#include "scheduler/monitoring/job_snapshot.h"
#include "scheduler/monitoring/progress_table.h"
#include "scheduler/monitoring/stack_requests.h"
#include "scheduler/monitoring/stall_detector.h"
#include "scheduler/monitoring/trace_session.h"

namespace stretto {

/// Thread: loop.
class JobMonitor {
 public:
  explicit JobMonitor(const Config& config);

  void set_members(const std::vector<Member>& members) { snapshot_.set_members(members); }
  void heard(const Member& member, const control::Heartbeat& beat, Time now);
  /// The answer to a member's heartbeat.
  control::Heartbeat answer(const Member& member, const control::Heartbeat& beat) const;
  void left(const Member& member);
  /// The job goes on without it.
  void lost(const Member& member);
  /// Another server has replaced it.
  void moved(const Member& member);
  /// A server of this number is not awaited any more.
  void unwanted(Rank number) {
    loss_news_.push_back({.number = number, .server = true, .dropped = true});
  }
  /// The member joins. True if a worker of its number had failed before.
  bool comes_again(const Member& member);
  /// Reports of failed members to the launcher, in order.
  const std::vector<LossReport>& loss_news() const { return loss_news_; }
  /// This worker has exited before the job was complete, and a replacement is awaited.
  void missed(Rank worker) { missed_workers_.push_back(worker); }
  const std::vector<Rank>& missed_workers() const { return missed_workers_; }
  /// The numbers of workers that have left, in order.
  const std::vector<Rank>& left_workers() const { return left_workers_; }
  void on_saved(const SavedCheckpoint& saved) { saved_ = saved; }
  /// The last checkpoint of this job.
  const std::optional<SavedCheckpoint>& saved() const { return saved_; }
  /// Logs warnings that are due.
  void look(Time now);

  const Snapshot& snapshot() const { return snapshot_; }
  /// Stack traces of members on request.
  StackRequests& stacks() { return stacks_; }
  const InputMonitor& input() const { return input_; }
  const TraceSession& trace() const { return trace_; }
  TraceSession& trace() { return trace_; }
  /// In Prometheus's text format.
  std::string metrics(Time now) const { return overview_.metrics(now) + input_.metrics(); }

 private:
  void forget(const Member& member, bool lost);

  const bool replicated_;
  ProgressTable overview_;
  BlockedCalls whereabouts_;
  StallDetector standstill_;
  Snapshot snapshot_;
  InputMonitor input_;
  TraceSession trace_;
  StackRequests stacks_;
  std::vector<LossReport> loss_news_;
  std::vector<Rank> left_workers_;
  std::vector<Rank> missed_workers_;
  std::optional<SavedCheckpoint> saved_;
};

}  // namespace stretto
