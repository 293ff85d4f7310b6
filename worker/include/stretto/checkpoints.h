// SPDX-License-Identifier: Apache-2.0
// Checkpoints of what a job's servers hold, and what a job goes on from.
//
//   stretto::Checkpoints checkpoints(worker);
//   if (!weights.restored) worker.broadcast(weights, initial, 0).wait().or_exit();
//   for (std::uint64_t step = checkpoints.restored().step; step < steps; ++step) {
//     if (step % 100 == 99) (void)checkpoints.save(step + 1);
//     ...
//   }
#pragma once

#include <cstdint>

#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

/// The checkpoint that a job goes on from.
struct RestoredFrom {
  std::uint64_t number = 0;  ///< In its folder; 0: the job has begun anew.
  std::uint64_t step = 0;    ///< As save() was told.
  explicit operator bool() const { return number != 0; }
};

/// Thread: any.
class Checkpoints {
 public:
  explicit Checkpoints(Worker& worker) : worker_(&worker) {}

  /// Saves what the servers hold: parameters, with what their update rules remember. All workers
  /// call it at the same place of the program and with the same step, each with nothing in flight;
  /// until the servers have cut nothing can be begun. It returns when the checkpoint is complete in
  /// the job's folder and on its device. One that is asked for while another one is being written
  /// is that one. kUnsupported if the job has no folder (stretto-launch --checkpoint) or no
  /// servers; kInvalidArgument if these keep nothing, because all tensors are sums or means of
  /// rounds, whose parameters the workers have; kMismatch where others are at a barrier or another
  /// step; otherwise why it could not be written. Then earlier ones are as they were, and training
  /// can go on.
  Status save(std::uint64_t step);

  /// What this job goes on from. Which tensors that has, Tensor::restored says of each: others
  /// begin anew.
  RestoredFrom restored() const;

 private:
  Worker* worker_;
};

}  // namespace stretto
#pragma GCC visibility pop
