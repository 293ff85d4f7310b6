// SPDX-License-Identifier: Apache-2.0
// PartsWriter: writes one file of parts (parts_file.h), front to back.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/entry.h"
#include "common/files/disk.h"

namespace stretto::checkpoint {

/// After an error the file is unusable: remove it and write another under a new name. Thread: any,
/// one at a time; calls block.
class PartsWriter {
 public:
  /// Creates the file, which must not exist.
  static Result<PartsWriter> create(Disk& disk, const std::string& path,
                                    const CheckpointId& origin);

  /// Appends an entry, the concatenation of `bytes`. Computes its length and checksums.
  /// kInvalidArgument for a duplicate.
  Status add(SavedEntry entry, const std::vector<std::span<const std::byte>>& bytes);
  /// Writes index and end, and syncs the file. No entry can be added afterwards.
  Result<FileDigest> finish();

 private:
  PartsWriter(std::unique_ptr<File> file, std::string path);

  Status append(std::span<const std::byte> bytes);
  Status flush();

  std::unique_ptr<File> file_;
  std::string path_;
  std::vector<std::byte> pending_;  // To write at offset_.
  std::uint64_t offset_ = 0;
  std::uint32_t head_checksum_ = 0;
  std::uint32_t seal_ = 0;
  std::vector<SavedEntry> entries_;
  std::set<EntryKey> keys_;
};

}  // namespace stretto::checkpoint
