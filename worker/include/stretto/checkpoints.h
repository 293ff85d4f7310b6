// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a job: of what its servers hold and of what its workers give, and what a job goes
// on from.
//
//   stretto::Checkpoints checkpoints(worker);
//   if (!weights.restored) worker.broadcast(weights, initial, 0).wait().or_exit();
//   for (std::uint64_t step = checkpoints.restored().step; step < steps; ++step) {
//     ...                                        // The step.
//     if (step % 100 == 99) (void)checkpoints.save(step + 1);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/attachment.h"
#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

/// The checkpoint that a job goes on from.
struct RestoredFrom {
  std::uint64_t number = 0;  ///< In its folder; 0: the job has begun anew.
  std::uint64_t step = 0;    ///< As save() was told.
  explicit operator bool() const { return number != 0; }
};

/// The rest of a checkpoint whose cut has been made. Thread: any.
class CheckpointTicket {
 public:
  /// One that is complete.
  CheckpointTicket() = default;

  /// Waits until it is complete in the job's folder and on its device, or says why it is not. Also
  /// after the worker has gone: leave() waits for it, and one that was torn away is kCancelled.
  Status wait() const { return wait_for(Duration::max()); }
  /// The same, for at most so long; then kTimeout, and nothing has changed.
  Status wait_for(Duration limit) const;
  bool done() const;

 private:
  friend class Checkpoints;
  explicit CheckpointTicket(std::shared_future<Status> end) : end_(std::move(end)) {}

  std::shared_future<Status> end_;
};

/// Thread: any. The worker must outlive it.
class Checkpoints {
 public:
  explicit Checkpoints(Worker& worker);

  /// Saves what the servers hold, parameters with what their update rules remember, and what is
  /// attached here. All workers call it at the same place of the program and with the same step,
  /// each with nothing in flight; until the servers have cut nothing can be begun. Each writes what
  /// it attaches itself, from the memory where it is. It returns when the checkpoint is complete in
  /// the job's folder and on its device. One that is asked for while one of the same step is being
  /// written is that one; of another step kRefused. kUnsupported if the job has no folder
  /// (stretto-launch --checkpoint); kInvalidArgument if there is nothing to save: servers keep
  /// nothing of sums and means of rounds, whose parameters the workers have, and nothing is
  /// attached; kMismatch where others are at a barrier or another step; otherwise why it could not
  /// be written. Then earlier ones are as they were, and training can go on.
  Status save(std::uint64_t step, std::span<const Attachment> attachments = {});

  /// The same, but it returns when the cut has been made: what this worker writes of the
  /// attachments is copied, and they may change again. Servers and a thread of this worker write
  /// meanwhile. While that goes on one of another step is kRefused, and none is due().
  CheckpointTicket begin(std::uint64_t step, std::span<const Attachment> attachments = {});

  /// Whether a checkpoint is due by the clock (stretto-launch --checkpoint-every; 60 s): true at
  /// all workers for the same step, and then all call save() with it. They ask between their steps,
  /// all for the same ones, which grow; while none is due that costs some nanoseconds. Never true
  /// in a job without a folder.
  Result<bool> due(std::uint64_t step);

  /// What this job goes on from. Which tensors that has, Tensor::restored says of each: others
  /// begin anew.
  RestoredFrom restored() const;

  /// What workers had attached to that. Nothing if the job has begun anew. Blocks for the disk.
  Result<std::vector<Attached>> attached() const;
  /// All bytes of one of those, into a place of that size. kMalformed if they are damaged on the
  /// device since the job has begun; then some may have come.
  Status read(const Attached& which, std::span<std::byte> target) const;
  /// What was attached by that name: by the worker of this one's rank, or else by all.
  /// kInvalidArgument if that is nothing.
  Result<std::vector<std::byte>> read(const std::string& name) const;

 private:
  class Files;

  Worker* worker_;
  std::shared_ptr<Files> files_;
};

}  // namespace stretto
#pragma GCC visibility pop
