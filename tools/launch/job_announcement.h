// SPDX-License-Identifier: Apache-2.0
// JobAnnouncement: the file by which the user's other programs, such as stretto-top, find a running
// job. It exists from the start of the scheduler's listener to the job's end.
#pragma once

#include "common/clock.h"
#include "common/config/job_file.h"
#include "tools/launch/plan/launch_context.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// Thread: loop.
class JobAnnouncement {
 public:
  /// Errors: why those programs cannot find the job.
  Status publish(const Plan& plan, const HostPort& scheduler, const LaunchContext& ingredients,
                 Time now);
  /// Restores the file if it is missing; due at deadline().
  void on_time(Time now);
  /// Time::max() unless published.
  Time deadline() const { return next_keep_; }
  void withdraw();

 private:
  JobFile file_;
  Time next_keep_ = Time::max();
};

}  // namespace stretto::launch
