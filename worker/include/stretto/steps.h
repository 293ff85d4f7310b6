// SPDX-License-Identifier: Apache-2.0
// Steps of a program, between which workers join an elastic job.
//
//   stretto::ProgramSteps steps(worker);
//   while (training) {
//     const stretto::StepBegin begins = steps.next().or_exit();
//     if (begins.newcomers > 0) worker.broadcast(state, bytes, 0).wait().or_exit();
//     ... one step: push_pull, apply ...
//   }
#pragma once

#include <cstdint>

#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

/// A step that begins.
struct StepBegin {
  std::uint64_t step = 0;  ///< From 1, the same at all workers.
  /// Workers that take part from this step on, and not before. Their ranks are the last ones. All
  /// workers get the same number, joining workers at their first step.
  std::uint32_t newcomers = 0;
  bool comes_in = false;  ///< This worker is one of them.
};

/// Where the steps of a worker's program begin. All workers of a job make the same steps, with the
/// same operations on the same tensors in each. A worker that joins a running elastic job takes
/// part from a step on that no worker has begun, starting with its first operation. A job without
/// this, or of fixed size, admits no worker. Thread: one, that of the program's steps.
class ProgramSteps {
 public:
  explicit ProgramSteps(Worker& worker) : worker_(&worker) {}

  /// Begins the next step. No operation of the previous step should be in flight: before a step
  /// with joining workers the call waits for that, and returns kTimeout after
  /// Options::operation_timeout. Without joining workers it costs a nanosecond or two.
  /// Between this and the step's first operation all previous members have the same parameters:
  /// send these to joining workers here, as by Worker::broadcast from rank 0, a previous member.
  Result<StepBegin> next();

  /// True if the job continues without workers that leave it or are lost, and admits others.
  bool elastic() const;

  /// Not 0 once an elastic job and this worker have lost each other, though its process lives: its
  /// link was away for longer than STRETTO_DEAD_AFTER_S, or it was stopped. All its operations end
  /// with errors then. The process may rejoin: destroy the Worker, and join another with this as
  /// Options::former. It joins before a step, as new workers do.
  NodeId lost_as() const;

  /// Takes part in the tensor's next round without a contribution, as a worker without parameters
  /// yet: means are over the others, and ValueInfo::contributors does not count it. `target`
  /// receives the round's value; if it is empty none arrives, and the ticket ends as a push's does.
  /// Zeros, if all workers listen. Only in modes that have rounds.
  Ticket listen(const Tensor& tensor, std::span<std::byte> target, int priority = 0);

 private:
  Worker* worker_;
};

}  // namespace stretto
#pragma GCC visibility pop
