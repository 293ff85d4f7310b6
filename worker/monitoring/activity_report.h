// SPDX-License-Identifier: Apache-2.0
// ActivityReport: what heartbeats report of the program: its own announcements, whether its threads
// are in calls of this worker, for how long, and what they do otherwise. The calls themselves are
// RequestDispatcher's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/threads/waiting_threads.h"
#include "van/control/control.h"
#include "worker/monitoring/pauses.h"
#include "worker/monitoring/user_metrics.h"

namespace stretto {

/// Thread: loop.
class ActivityReport {
 public:
  /// Sets the waiting threads; before the loop starts. Without, as in another process than the
  /// worker's own, all count as outside, and the process's activity is not reported.
  void set_callers(std::shared_ptr<const WaitingThreads> callers) { callers_ = std::move(callers); }
  /// What the program's language knows of its stacks; before the loop starts.
  void set_stack_source(std::function<std::string()> source) { stack_ = std::move(source); }
  std::string stack() const { return stack_ == nullptr ? std::string() : stack_(); }
  /// Thread: any. It may outlive this.
  const std::shared_ptr<Pauses>& pauses() const { return pauses_; }
  /// Numbers that the program publishes. Thread: any.
  UserMetrics& reports() { return reports_; }

  /// `known` comes from RequestDispatcher; `oldest` is when the operation or barrier began that has
  /// waited long, or Time().
  control::Activity at(Time now, control::Activity known, Time oldest);

 private:
  std::shared_ptr<const WaitingThreads> callers_;
  UserMetrics reports_;
  std::function<std::string()> stack_;
  std::shared_ptr<Pauses> pauses_ = std::make_shared<Pauses>();
  control::Activity::Place place_ = control::Activity::Place::kOutside;
  std::uint64_t waits_ = 0;  // Begun, at the last call.
  Time since_;               // Since when it has been there.
};

}  // namespace stretto
