// SPDX-License-Identifier: Apache-2.0
// UserMetrics: numbers that the program reports, until the worker's next heartbeat sends them.
// Reporting takes a lock and wakes no thread.
#pragma once

#include "common/mutex.h"
#include "observe/user_metrics.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: any.
class UserMetrics {
 public:
  /// Sets the name's latest value. Errors: InvalidArgument if the number cannot be shown; Resource
  /// if there are too many names.
  Status set(std::string_view name, double value);
  /// The latest value of each name that was set since the last call.
  UserMetricValues take();
  /// The latest value of each name.
  UserMetricValues all();

 private:
  Mutex mutex_;
  UserMetricValues all_ GUARDED_BY(mutex_);
  UserMetricValues fresh_ GUARDED_BY(mutex_);
};

}  // namespace stretto
