// SPDX-License-Identifier: Apache-2.0
// ShardCheckpoint: a shard's part of a checkpoint: writes the contents of its slots at the cut to a
// file while slots stay in use. Each part is copied in its turn, or before it changes.
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

/// Whether a part must be saved: false if its next value depends only on sums that workers already
/// have.
bool is_saved(const TensorSpec& spec);

/// Thread: loop.
class ShardCheckpoint {
 public:
  static constexpr std::uint64_t kCopiedInATurn = std::uint64_t{1} << 20;

  /// `file`: the name of its files. `work` and `folder`'s disk outlive this. An iteration copies
  /// parts up to `copied_in_a_turn` bytes.
  ShardCheckpoint(checkpoint::DiskExecutor& work, checkpoint::Folder folder, std::string file,
                  std::uint64_t copied_in_a_turn = kCopiedInATurn);

  /// Takes a cut of these slots for this checkpoint. No other may be active(). kRefused, without
  /// effect, if a round of a part to be saved is open or has failed: the parts of its tensor would
  /// be inconsistent.
  Status begin(const control::CheckpointCut& cut, OwnedSlots& slots);
  bool active() const { return writing_ != nullptr; }
  /// Call once per iteration: copies parts if the disk's queue has room. The result, once.
  std::optional<control::CheckpointSaved> step();
  /// There is more to copy, and room in the queue.
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
