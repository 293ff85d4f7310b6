// SPDX-License-Identifier: Apache-2.0
// One worker's training: gradients with a given computation time, and snapshots that are evaluated
// afterwards, outside the measured time.
#pragma once

#include <stretto/worker.h>

#include <vector>

#include "examples/converge/settings.h"
#include "examples/converge/tasks.h"
#include "examples/converge/usage.h"

namespace converge {

/// The values of worker 0 at one time.
struct Snapshot {
  double seconds = 0;    ///< Since the common start.
  double gradients = 0;  ///< Gradients of all workers in the values.
  Tensors values;
};

/// How one worker spent its time; means are over its steps.
struct WorkerTimes {
  double steps = 0;
  double seconds = 0;      ///< From the common start to the end of its last step.
  double exchange_ms = 0;  ///< Mean time in Parameters::step.
  double late_ms = 0;      ///< Mean time by which computing ended after its deadline,
  double late_p99_ms = 0;  ///< and the 99th percentile.
  double staleness = 0;    ///< Mean, as the rate rule measured it.
  double factor = 0;       ///< Mean factor of the rate rule.
};

struct Outcome {
  std::vector<Snapshot> snapshots;   ///< Of worker 0; the last is from after finish().
  std::vector<WorkerTimes> workers;  ///< Of all workers.
  Usage before;                      ///< At the common start,
  Usage after;                       ///< and after this worker's last step.
};

/// Trains until settings.gradients have been applied. All workers must call it.
stretto::Result<Outcome> train(stretto::Worker& worker, const Settings& settings, Task& task);

}  // namespace converge
