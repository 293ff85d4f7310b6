// SPDX-License-Identifier: Apache-2.0
// Steps of a program, between which workers come into an elastic job.
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
  /// So many workers take part from this step on, and have made none before. Their ranks are the
  /// last ones. All workers are told the same number, newcomers at their first step.
  std::uint32_t newcomers = 0;
  bool comes_in = false;  ///< This worker is one of them.
};

/// Where the steps of a worker's program begin. All workers of a job make the same steps, with the
/// same operations on the same tensors in each; who joins an elastic job while it runs takes part
/// from a step on that nobody has begun, in that step's operations first. A job without this, or
/// whose size is fixed, takes nobody in. Thread: one, that of the program's steps.
class ProgramSteps {
 public:
  explicit ProgramSteps(Worker& worker) : worker_(&worker) {}

  /// Begins the next step. Nothing of the step before should be in flight any more: before a step
  /// that brings newcomers the call waits for that, and says kTimeout after
  /// Options::operation_timeout. While nobody joins it costs a nanosecond or two.
  /// Between this and the step's first operation all who were in before have the same parameters:
  /// the place to give them to newcomers, as by Worker::broadcast from rank 0, who is none of them.
  Result<StepBegin> next();

  /// The job goes on without workers that leave it or are lost, and takes others in.
  bool elastic() const;

  /// Not 0 once an elastic job has lost this worker, or it the job, though its process lives: its
  /// link was away for longer than STRETTO_DEAD_AFTER_S, or it was stopped. All its operations end
  /// with errors then. The process may come in again: destroy the Worker, and join another with
  /// this as Options::former. It comes in before a step, as newcomers do.
  NodeId lost_as() const;

  /// This worker takes part in the tensor's next round without a share, as who lacks parameters
  /// yet: means are by the others alone, and ValueInfo::contributors does not count it. `target`
  /// receives the round's value; if it is empty none comes, and the ticket ends as that of a push
  /// does. Zeros, if all have listened. Only in modes that have rounds.
  Ticket listen(const Tensor& tensor, std::span<std::byte> target, int priority = 0);

 private:
  Worker* worker_;
};

}  // namespace stretto
#pragma GCC visibility pop
