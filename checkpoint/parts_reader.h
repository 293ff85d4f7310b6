// SPDX-License-Identifier: Apache-2.0
// PartsReader: reads a file of parts (parts_file.h). Whatever the file holds, what it gives is what
// was written, or an error that names the file and the place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/entry.h"
#include "common/files/disk.h"

namespace stretto::checkpoint {

/// Thread: any, one at a time; calls block.
class PartsReader {
 public:
  /// Takes the bytes of an entry that begin at `offset`, in order.
  using Take = std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)>;

  /// Reads and checks head, end and index. kMalformed if it is no such file, not complete, damaged,
  /// or another one than `seal`; kUnsupported if a later version of Stretto has written it.
  static Result<PartsReader> open(Disk& disk, const std::string& path,
                                  const std::optional<FileDigest>& seal = std::nullopt);

  const CheckpointId& origin() const { return origin_; }
  const FileDigest& seal() const { return seal_; }
  /// In the order of their bytes.
  const std::vector<SavedEntry>& entries() const { return entries_; }
  /// Reads entry number `index` in chunks of kChunkBytes. Each is checked before it is given: with
  /// kMalformed, what has been given before is right, and not all.
  Status read(std::size_t index, const Take& take);
  /// Reads and checks all entries, in order, and gives nothing.
  Status read_all();

 private:
  PartsReader(std::unique_ptr<File> file, std::string path);

  Status read_frame();
  Status take_index(std::span<const std::byte> bytes);
  Status damaged(std::string_view what) const;

  std::unique_ptr<File> file_;
  std::string path_;
  CheckpointId origin_;
  FileDigest seal_;
  std::vector<SavedEntry> entries_;
  std::vector<std::uint64_t> offsets_;  // Of the entries.
  std::vector<std::byte> chunk_;        // Kept: new memory costs as much as reading into it.
};

}  // namespace stretto::checkpoint
