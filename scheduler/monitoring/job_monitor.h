// SPDX-License-Identifier: Apache-2.0
// JobMonitor: what the scheduler sees of a job that runs, from heartbeats: how far each worker is,
// where it waits, what it reads, and the trace. It decides nothing about who is in.
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
  /// What a member is told in return.
  control::Heartbeat answer(const Member& member, const control::Heartbeat& beat) const;
  void left(const Member& member);
  /// The job goes on without it.
  void lost(const Member& member);
  /// Another server has its place.
  void moved(const Member& member);
  /// A server of this number that was to have a place is not waited for any more.
  void unwanted(Rank number) {
    loss_news_.push_back({.number = number, .server = true, .dropped = true});
  }
  /// It comes in. True if it was lost before, by its number.
  bool comes_again(const Member& member);
  /// What has been said of lost workers, in that order.
  const std::vector<LossReport>& loss_news() const { return loss_news_; }
  /// This worker has ended before all had come, and another process is awaited for it.
  void missed(Rank worker) { missed_workers_.push_back(worker); }
  const std::vector<Rank>& missed_workers() const { return missed_workers_; }
  /// The numbers of workers that have left, in that order.
  const std::vector<Rank>& left_workers() const { return left_workers_; }
  void on_saved(const SavedCheckpoint& saved) { saved_ = saved; }
  /// The last checkpoint that this job has made.
  const std::optional<SavedCheckpoint>& saved() const { return saved_; }
  /// Logs what people should know by now.
  void look(Time now);

  const Snapshot& snapshot() const { return snapshot_; }
  /// What members' threads do, for those who ask.
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
