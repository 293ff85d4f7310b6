// SPDX-License-Identifier: Apache-2.0
// ShardPersistence: a shard's data on disk: the checkpoint from which its job resumes, and its part
// of the checkpoint in progress.
#pragma once

#include <functional>
#include <optional>

#include "common/clock.h"
#include "common/config/config.h"
#include "server/checkpoint/restore_reads.h"
#include "server/checkpoint/shard_checkpoint.h"
#include "van/control/control.h"

namespace stretto {

/// Thread: loop.
class ShardPersistence {
 public:
  /// The storage; both null: none. The loop copies at most `copied_in_a_turn` bytes per iteration.
  struct Files {
    Disk* disk = nullptr;
    checkpoint::DiskExecutor* work = nullptr;
    std::uint64_t copied_in_a_turn = ShardCheckpoint::kCopiedInATurn;
  };
  /// Called when saved data cannot be read.
  using Unreadable = std::function<void(const Status&)>;

  /// Of shard `index` of its server.
  ShardPersistence(const Config& config, std::uint32_t index, const Files& files)
      : config_(config), index_(index), files_(files) {}

  /// Call before any part is made: starts to open the checkpoint to resume from, if any.
  Status open(const JobSettings& settings);
  /// This part can be made without a wait for the disk; otherwise its saved bytes are being read.
  bool may_make(const wire::Key& key, const OwnedSlots& slots);
  /// OwnedSlots::Job::restore. A redefined tensor is the program's error. Unreadable data ends the
  /// job, and the next job looks for a readable checkpoint.
  std::function<Status(Part&)> restorer(Unreadable unreadable);
  /// Takes a cut of these slots for a checkpoint. Returns the report to the scheduler.
  control::Message cut(const control::CheckpointCut& said, Rank server, OwnedSlots& slots);
  /// Call once per iteration: the result, once. `over`: cancels the remaining reads.
  std::optional<control::CheckpointSaved> step(Time now, bool over);
  /// The last result, for a scheduler that may not have received it.
  const std::optional<control::CheckpointSaved>& last() const { return last_; }
  Time next_due(Time now) const;

 private:
  static constexpr Duration kLookEvery = 2ms;  // Poll interval for the disk's results.

  bool has_folder() const { return files_.disk != nullptr && !config_.checkpoint.folder.empty(); }
  Status begin(const control::CheckpointCut& said, Rank server, OwnedSlots& slots);

  const Config& config_;
  const std::uint32_t index_;
  const Files files_;
  std::optional<RestoreReads> restored_;
  std::optional<ShardCheckpoint> checkpoint_;
  std::optional<control::CheckpointSaved> last_;
};

}  // namespace stretto
