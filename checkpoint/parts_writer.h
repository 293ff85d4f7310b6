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

/// An error ends it: the file is of no use then, and is to be removed and written anew under
/// another name. Thread: any, one at a time; calls block.
class PartsWriter {
 public:
  /// Makes the file, which must not be there.
  static Result<PartsWriter> create(Disk& disk, const std::string& path,
                                    const CheckpointId& origin);

  /// Appends an entry: all of these bytes, one after another. Its length and checksums are filled
  /// in. kInvalidArgument if it has been added before.
  Status add(SavedEntry entry, const std::vector<std::span<const std::byte>>& bytes);
  /// Index and end, and all of it is on the device. Nothing can be added afterwards.
  Result<FileDigest> finish();

 private:
  PartsWriter(std::unique_ptr<File> file, std::string path);

  Status append(std::span<const std::byte> bytes);
  Status flush();

  std::unique_ptr<File> file_;
  std::string path_;
  std::vector<std::byte> pending_;  // Is to be written at offset_.
  std::uint64_t offset_ = 0;
  std::uint32_t head_checksum_ = 0;
  std::uint32_t seal_ = 0;
  std::vector<SavedEntry> entries_;
  std::set<EntryKey> keys_;
};

}  // namespace stretto::checkpoint
