// SPDX-License-Identifier: Apache-2.0
// PartsReader: reads a file of parts (parts_file.h). Returns exactly the bytes that were written,
// or an error that names the file and the position.
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
  /// Receives the bytes of an entry that begin at `offset`, in order.
  using Take = std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)>;

  /// Reads and checks head, end and index. kMalformed if the file is of another format, incomplete,
  /// damaged, or does not match `seal`; kUnsupported if a later version of Stretto wrote it.
  static Result<PartsReader> open(Disk& disk, const std::string& path,
                                  const std::optional<FileDigest>& seal = std::nullopt);

  const CheckpointId& origin() const { return origin_; }
  const FileDigest& seal() const { return seal_; }
  /// In file order.
  const std::vector<SavedEntry>& entries() const { return entries_; }
  /// Reads entry `index` in chunks of kChunkBytes, each checked before `take` gets it. On
  /// kMalformed, the chunks passed before are correct but incomplete.
  Status read(std::size_t index, const Take& take);
  /// Reads and checks all entries, in order, and discards them.
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
  std::vector<std::byte> chunk_;        // Reused: allocation costs as much as reading.
};

}  // namespace stretto::checkpoint
