// SPDX-License-Identifier: Apache-2.0
// Reports: the numbers that a program reports of itself, until the worker's next heartbeat takes
// them along. Reporting takes a lock and wakes nobody.
#pragma once

#include "common/mutex.h"
#include "observe/reported.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: any.
class Reports {
 public:
  /// The name's latest value. Errors: InvalidArgument, if nobody could show it; Resource, if there
  /// are too many names.
  Status set(std::string_view name, double value);
  /// The latest value of each name that was set since the last call.
  Reported take();
  /// The latest value of each name.
  Reported all();

 private:
  Mutex mutex_;
  Reported all_ GUARDED_BY(mutex_);
  Reported fresh_ GUARDED_BY(mutex_);
};

}  // namespace stretto
