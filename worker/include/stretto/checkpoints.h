// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a job: they save what its servers hold and what its workers attach, and a job can
// resume from them.
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

/// The checkpoint that a job resumes from.
struct RestoredFrom {
  std::uint64_t number = 0;  ///< In its folder; 0: the job has started afresh.
  std::uint64_t step = 0;    ///< As given to save().
  explicit operator bool() const { return number != 0; }
};

/// The completion of a checkpoint whose cut has been made. Thread: any.
class CheckpointTicket {
 public:
  /// A complete checkpoint.
  CheckpointTicket() = default;

  /// Waits until it is complete in the job's folder and on its device, or returns why it is not.
  /// Valid after the worker has gone: leave() waits for it, and an aborted one is kCancelled.
  Status wait() const { return wait_for(Duration::max()); }
  /// Waits at most `limit`; then kTimeout, without effect.
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

  /// Saves what the servers hold, parameters with what their update rules remember, and the
  /// attachments. All workers call it at the same place of the program and with the same step, each
  /// with nothing in flight; no operation can begin until the servers have cut. Each worker writes
  /// its attachments, from the memory where they are. Returns when the checkpoint is complete in
  /// the job's folder and on its device. A call while a checkpoint of the same step is being
  /// written joins that one; of another step it is kRefused. kUnsupported if the job has no folder
  /// (stretto-launch --checkpoint). kInvalidArgument if there is nothing to save: servers keep
  /// nothing of sums and means of rounds, whose parameters the workers have, and nothing is
  /// attached. kMismatch if other workers are at a barrier or another step; otherwise the reason of
  /// the failure. After an error earlier checkpoints are intact, and training can continue.
  Status save(std::uint64_t step, std::span<const Attachment> attachments = {});

  /// Like save(), but returns when the cut has been made: this worker's attachments are copied, and
  /// may change again. Servers and a thread of this worker write meanwhile. Until they are done, a
  /// checkpoint of another step is kRefused, and none is due().
  CheckpointTicket begin(std::uint64_t step, std::span<const Attachment> attachments = {});

  /// Whether a checkpoint is due by the clock (stretto-launch --checkpoint-every; 60 s). It is true
  /// at all workers for the same step, and then all call save() with it. Programs ask between
  /// steps, all for the same ones, which grow; while none is due that costs some nanoseconds. Never
  /// true in a job without a folder.
  Result<bool> due(std::uint64_t step);

  /// The checkpoint that this job resumed from. Tensor::restored tells whether it has a tensor;
  /// other tensors start afresh.
  RestoredFrom restored() const;

  /// What workers had attached to it. Empty if the job has started afresh. Blocks for the disk.
  Result<std::vector<Attached>> attached() const;
  /// Reads all bytes of an attachment into memory of that size. kMalformed if they were damaged on
  /// the device since the job has started; then some may have been read.
  Status read(const Attached& which, std::span<std::byte> target) const;
  /// What was attached by that name: by the worker of this one's rank, or else by all.
  /// kInvalidArgument if there is none.
  Result<std::vector<std::byte>> read(const std::string& name) const;

 private:
  class Files;

  Worker* worker_;
  std::shared_ptr<Files> files_;
};

}  // namespace stretto
#pragma GCC visibility pop
