// SPDX-License-Identifier: Apache-2.0
// ShardPersistence: what a shard has on a disk: the checkpoint that its job goes on from, and its
// part in the one that is being made.
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
  /// Where it lies; both null: nowhere. Between two turns of the loop so many bytes are copied.
  struct Files {
    Disk* disk = nullptr;
    checkpoint::DiskExecutor* work = nullptr;
    std::uint64_t copied_in_a_turn = ShardCheckpoint::kCopiedInATurn;
  };
  /// Hears that what was saved cannot be read.
  using Unreadable = std::function<void(const Status&)>;

  /// Of shard `index` of its server.
  ShardPersistence(const Config& config, std::uint32_t index, const Files& files)
      : config_(config), index_(index), files_(files) {}

  /// Before any part is made: begins to open what the job goes on from, if it does.
  Status open(const JobSettings& settings);
  /// This part can be made without a wait for the disk; if not, what it had before is being read.
  bool may_make(const wire::Key& key, const OwnedSlots& slots);
  /// OwnedSlots::Job::restore. A tensor that is another one now is the program's error; that what
  /// is saved cannot be read ends the job, and the next one looks for what can be.
  std::function<Status(Part&)> restorer(Unreadable unreadable);
  /// All that these slots hold is a checkpoint's from now on. What the scheduler hears of it.
  control::Message cut(const control::CheckpointCut& said, Rank server, OwnedSlots& slots);
  /// Once a turn: what has come of it, once. Nothing is read any more if the shard is over.
  std::optional<control::CheckpointSaved> step(Time now, bool over);
  /// The last that has: for a scheduler that may not have heard.
  const std::optional<control::CheckpointSaved>& last() const { return last_; }
  Time next_due(Time now) const;

 private:
  static constexpr Duration kLookEvery = 2ms;  // For what the disk's thread has done.

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
