// SPDX-License-Identifier: Apache-2.0
// RestoreReads: reads a checkpoint for a shard on the thread of its disk, so that a slow disk
// delays the parts that are read and not the shard's heartbeats.
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
  /// Opens checkpoint `number`, and reads by `work`, which outlives this.
  RestoreReads(checkpoint::DiskExecutor& work, checkpoint::Folder folder, std::uint64_t number);

  /// The saved bytes of this part are in memory, or it has none, or the checkpoint cannot be read.
  /// False: a read has been asked for, now or before.
  bool is_read(const CheckpointLoader::Name& part);
  /// Once a turn, before is_read(): sees what has been read. Logs if the disk takes long.
  void look(Time now);
  /// A read has been asked for, and look() has not seen its end.
  bool reading() const { return seen_ != posted_; }
  /// Gives a part its saved bytes, and frees these: CheckpointLoader::load. Errors: also why the
  /// checkpoint cannot be read, and Refused if is_read() is false.
  Status load(Part& part);
  /// Drops the remaining reads.
  void cancel();

 private:
  using Bytes = std::vector<std::byte>;
  struct Shared;  // With the disk's thread.

  bool is_open() const;

  checkpoint::DiskExecutor& work_;
  const std::string folder_;
  const std::shared_ptr<Shared> shared_;
  std::set<CheckpointLoader::Name> asked_;
  std::set<CheckpointLoader::Name> loaded_;
  std::size_t posted_ = 1;         // Jobs of the disk's thread,
  std::size_t seen_ = 0;           // and those whose end has been seen.
  std::optional<WaitNotes> wait_;  // Since a read has been awaited.
};

}  // namespace stretto
