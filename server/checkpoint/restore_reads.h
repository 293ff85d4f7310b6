// SPDX-License-Identifier: Apache-2.0
// RestoreReads: reads a checkpoint for a shard on the disk's thread. So a slow disk delays only the
// parts that are read, and not the shard's heartbeats.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/disk_executor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/threads/wait_notes.h"
#include "server/checkpoint/checkpoint_loader.h"

namespace stretto {

/// Thread: loop.
class RestoreReads {
 public:
  /// Opens checkpoint `number`, and reads on `work`, which must outlive this.
  RestoreReads(checkpoint::DiskExecutor& work, checkpoint::Folder folder, std::uint64_t number);

  /// True if this part's saved bytes are in memory, if it has none, or if the checkpoint cannot be
  /// read. False: a read is in progress.
  bool is_read(const CheckpointLoader::Name& part);
  /// Call once per iteration, before is_read(): collects finished reads. Logs a slow disk.
  void look(Time now);
  /// A read is in progress, or look() has not seen its end.
  bool reading() const { return seen_ != posted_; }
  /// Restores a part from its saved bytes, and frees them: CheckpointLoader::load. Errors: also an
  /// unreadable checkpoint, and Refused if is_read() is false.
  Status load(Part& part);
  /// Drops the remaining reads.
  void cancel();

 private:
  using Bytes = std::vector<std::byte>;
  struct Shared;  // Shared with the disk's thread.

  bool is_open() const;

  checkpoint::DiskExecutor& work_;
  const std::string folder_;
  const std::shared_ptr<Shared> shared_;
  std::set<CheckpointLoader::Name> asked_;
  std::set<CheckpointLoader::Name> loaded_;
  std::size_t posted_ = 1;         // Jobs of the disk's thread,
  std::size_t seen_ = 0;           // and those seen to have ended.
  std::optional<WaitNotes> wait_;  // While a read is awaited.
};

}  // namespace stretto
