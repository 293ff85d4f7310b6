// SPDX-License-Identifier: Apache-2.0
// Folder: a folder of checkpoints, each in a folder of its own:
//
//   DIR/ckpt-17/MANIFEST            written last: with it the checkpoint is complete
//   DIR/ckpt-17/server-0.1.parts    and other files that the manifest names
//   DIR/LATEST                      the name of the newest complete one, for people and scripts
//
// Files are never overwritten, and no checkpoint is removed before its successor is complete and
// synced: after any crash a complete checkpoint remains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/parts_reader.h"
#include "checkpoint/parts_writer.h"
#include "common/files/disk.h"

namespace stretto::checkpoint {

/// The file that makes a folder of files a checkpoint.
inline constexpr const char* kManifestName = "MANIFEST";
/// Minimum number of complete checkpoints that are kept.
inline constexpr std::size_t kKept = 2;

/// The number of the checkpoint whose folder has this name; none for other names.
std::optional<std::uint64_t> number_named(std::string_view name);

/// How much of a checkpoint is verified: its manifest and its files' heads, ends and indexes, or
/// also the entries' bytes.
enum class VerifyDepth : std::uint8_t { kFrame, kAll };

/// One Folder object at a time writes to a folder; any may read. Thread: any, one at a time; calls
/// block.
class Folder {
 public:
  /// A checkpoint that could not be used, and why; reported on resume.
  struct Refused {
    std::uint64_t number = 0;
    bool was_complete = false;  ///< It has a manifest,
    bool is_gone = false;       ///< or it had one, and its folder has been removed.
    Status why;
  };
  struct Found {
    std::optional<CheckpointManifest> newest;  ///< None: there is no complete one.
    std::vector<Refused> refused;              ///< Newer, unusable ones.
  };

  Folder(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Paths of a checkpoint's folder and files.
  std::string path_of(std::uint64_t number) const;
  std::string path_of(std::uint64_t number, const std::string& file) const;

  /// Numbers of all checkpoints, complete or not, ascending. Other names are ignored.
  Result<std::vector<std::uint64_t>> numbers();
  /// Creates the folder itself and its parents, if missing. Call it first.
  Status make();
  /// Creates the folder of the next checkpoint. Its number is greater than all existing ones and
  /// than `after`, a removed one that may still be written to.
  Result<std::uint64_t> begin(std::uint64_t after = 0);
  /// A new file of a checkpoint that was begun, by this or another process.
  Result<PartsWriter> write(const CheckpointId& origin, const std::string& file);
  /// Completes a checkpoint whose files have been written and synced: ok means that it survives a
  /// crash of the machine.
  Status commit(const CheckpointManifest& manifest);
  /// The manifest of this checkpoint, if all files that it names exist and match it. Entries' bytes
  /// are not read: PartsReader::read checks them.
  Result<CheckpointManifest> open(std::uint64_t number);
  /// Whether the manifest of this checkpoint and all files that it names exist. True if the
  /// manifest cannot be read: open() returns the error.
  Result<bool> is_there(std::uint64_t number);
  /// Reads and checks every byte of a checkpoint.
  Status verify(const CheckpointManifest& manifest);
  /// Opens one of its files, if that matches the manifest.
  Result<PartsReader> read(const CheckpointId& origin, const CheckpointManifest::File& file);
  /// The newest complete one. kAll: every byte has been read and is correct. If unusable newer ones
  /// were resumed from an older checkpoint, those in between belong to another history and are
  /// skipped.
  Result<Found> newest(VerifyDepth depth = VerifyDepth::kFrame);
  /// Removes checkpoints older than the newest `keep` complete ones, at least one, and incomplete
  /// ones older than the newest. Damaged ones among the kept stay, as does `spared`. The error is
  /// the first failed removal. kAll: every byte of each counted one has been read.
  Status prune(std::size_t keep = kKept, std::uint64_t spared = 0,
               VerifyDepth depth = VerifyDepth::kFrame);
  /// Locks the folder until the result is destroyed: one job at a time writes to a folder. `who`
  /// names this holder to others. Null: the file system has no locks. Errors: InvalidArgument,
  /// which names the holder; and the disk's.
  Result<std::unique_ptr<FileHold>> hold(const std::string& who);
  /// Creates and removes a folder in it, to test whether this process may write there.
  Status probe();
  /// Removes an incomplete checkpoint that no process writes to.
  Status abandon(std::uint64_t number) { return remove(number); }

 private:
  Status remove(std::uint64_t number);
  Result<CheckpointManifest> manifest_of(std::uint64_t number);
  Result<CheckpointManifest> open(std::uint64_t number, VerifyDepth depth);

  Disk& disk_;
  std::string path_;
};

}  // namespace stretto::checkpoint
