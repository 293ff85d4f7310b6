// SPDX-License-Identifier: Apache-2.0
// ShardCheckpoint: a shard's part in a checkpoint: what its slots hold at the cut goes to a file,
// while they go on. Each part is copied when its turn comes, or before it changes.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/disk_executor.h"
#include "common/mutex.h"
#include "server/storage/owned_slots.h"
#include "van/control/control.h"

namespace stretto {

/// What a part is worth saving for: the next value does not depend on a round's sum that has been
/// told.
bool is_saved(const TensorSpec& spec);

/// Thread: loop.
class ShardCheckpoint {
 public:
  static constexpr std::uint64_t kCopiedInATurn = std::uint64_t{1} << 20;

  /// `file`: the name of its files. Both others outlive this. A turn copies parts until they are
  /// of so many bytes.
  ShardCheckpoint(checkpoint::DiskExecutor& work, checkpoint::Folder folder, std::string file,
                  std::uint64_t copied_in_a_turn = kCopiedInATurn);

  /// All that these slots hold now is this checkpoint's. One at a time: none is active().
  /// Without effect, and kRefused, if a round of a part that is to be saved is open or has failed:
  /// the parts of its tensor do not belong together.
  Status begin(const control::CheckpointCut& cut, OwnedSlots& slots);
  bool active() const { return writing_ != nullptr; }
  /// Once a turn: copies some more, unless much waits for the disk. What came of it, once.
  std::optional<control::CheckpointSaved> step();
  /// There is more to copy, and room for it.
  bool can_go_on() const;

 private:
  struct Writing;  // Shared with the disk's thread.

  void copy_next();
  void finish();

  checkpoint::DiskExecutor& work_;
  checkpoint::Folder folder_;
  const std::string file_;
  const std::uint64_t copied_in_a_turn_;
  std::vector<Part*> parts_;  // In this order.
  std::size_t next_ = 0;
  bool finishing_ = false;
  std::shared_ptr<Writing> writing_;
};

}  // namespace stretto
