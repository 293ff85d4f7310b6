// SPDX-License-Identifier: Apache-2.0
// One worker's training: gradients whose computing takes a given time, and what is remembered of it
// to be looked at afterwards. Nothing is evaluated while the clock runs.
#pragma once

#include <stretto/worker.h>

#include <vector>

#include "examples/converge/settings.h"
#include "examples/converge/tasks.h"
#include "examples/converge/usage.h"

namespace converge {

/// What worker 0 had at one time.
struct Snapshot {
  double seconds = 0;    ///< Since all began.
  double gradients = 0;  ///< In the values, of all workers together.
  Tensors values;
};

/// What became of one worker's time; means are over its steps.
struct WorkerTimes {
  double steps = 0;
  double seconds = 0;      ///< From the common beginning until it had done its last step.
  double exchange_ms = 0;  ///< Mean time in Parameters::step.
  double late_ms = 0;      ///< Mean time by which computing ended after its deadline,
  double late_p99_ms = 0;  ///< and the 99th percentile.
  double staleness = 0;    ///< Mean, as the rate rule saw it.
  double factor = 0;       ///< Mean.
};

struct Outcome {
  std::vector<Snapshot> snapshots;   ///< Worker 0; the last is of after finish().
  std::vector<WorkerTimes> workers;  ///< All.
  Usage before;                      ///< When all began,
  Usage after;                       ///< and when this worker had done its last step.
};

/// Trains until there are settings.gradients. All workers must call it.
stretto::Result<Outcome> train(stretto::Worker& worker, const Settings& settings, Task& task);

}  // namespace converge
