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

#include "checkpoint/disk_work.h"
#include "checkpoint/folder.h"
#include "common/mutex.h"
#include "server/restored_parts.h"

namespace stretto {

/// Thread: loop.
class RestoreReads {
 public:
  /// Opens checkpoint `number`, and reads by `work`, which outlives this.
  RestoreReads(checkpoint::DiskWork& work, checkpoint::Folder folder, std::uint64_t number);

  /// The saved bytes of this part are in memory, or it has none, or the checkpoint cannot be read.
  /// False: a read has been asked for, now or before.
  bool is_read(const RestoredParts::Name& part);
  /// A read has been asked for that has not ended.
  bool reading() const;
  /// Why the checkpoint could not be opened; Ok until that is known.
  Status opened() const;
  /// Gives a part its saved bytes, and frees these. is_read() is true. RestoredParts::load.
  Status load(Part& part);

 private:
  using Bytes = std::vector<std::byte>;
  struct Shared;  // With the disk's thread.

  checkpoint::DiskWork& work_;
  const std::shared_ptr<Shared> shared_;
  std::set<RestoredParts::Name> asked_;
  std::set<RestoredParts::Name> loaded_;
};

}  // namespace stretto
