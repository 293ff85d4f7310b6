// SPDX-License-Identifier: Apache-2.0
// Folder: a folder of checkpoints, each in a folder of its own:
//
//   DIR/ckpt-17/MANIFEST            written last: with it the checkpoint is complete
//   DIR/ckpt-17/server-0.1.parts    and other files that the manifest names
//   DIR/LATEST                      the name of the newest complete one, for people and scripts
//
// Nothing is ever written over, and nothing is removed before its successor is complete and on the
// device: whatever crashes when, a complete checkpoint that was there stays there.
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
/// Complete ones that stay, at least.
inline constexpr std::size_t kKept = 2;

/// The number of the checkpoint whose folder has this name, if it is the name of one.
std::optional<std::uint64_t> number_named(std::string_view name);

/// What of a checkpoint is looked at: its manifest and the heads, ends and indexes of its files, or
/// the entries' bytes too.
enum class VerifyDepth : std::uint8_t { kFrame, kAll };

/// One object a folder writes to it at a time; any may read. Thread: any, one at a time; calls
/// block.
class Folder {
 public:
  /// A checkpoint that could not be used, and why: whoever restores says it.
  struct Refused {
    std::uint64_t number = 0;
    bool was_complete = false;  ///< It has a manifest,
    bool is_gone = false;       ///< or it has had one, and its folder is not there any more.
    Status why;
  };
  struct Found {
    std::optional<CheckpointManifest> newest;  ///< None: nothing complete is there.
    std::vector<Refused> refused;              ///< Newer ones.
  };

  Folder(Disk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Of a checkpoint's files.
  std::string path_of(std::uint64_t number) const;
  std::string path_of(std::uint64_t number, const std::string& file) const;

  /// Numbers of all checkpoints, complete or not, ascending. What is called otherwise is not ours.
  Result<std::vector<std::uint64_t>> numbers();
  /// Makes the folder itself, before anything else, if it is missing, with the folders that it is
  /// in.
  Status make();
  /// Makes the folder of the next checkpoint. Its number is greater than all that are there, and
  /// than that of one that has gone and may still be written to.
  Result<std::uint64_t> begin(std::uint64_t after = 0);
  /// A new file of a checkpoint that has been begun, here or by another process.
  Result<PartsWriter> write(const CheckpointId& origin, const std::string& file);
  /// Makes a checkpoint complete whose files have been written and synced: ok means that it
  /// survives a crash of the machine.
  Status commit(const CheckpointManifest& manifest);
  /// The manifest of this checkpoint, if all files are there that it names, as it names them. Their
  /// entries' bytes are not read: PartsReader::read checks them.
  Result<CheckpointManifest> open(std::uint64_t number);
  /// Whether the manifest of this checkpoint is there, and all files that it names. True if the
  /// manifest cannot be read: open() says why.
  Result<bool> is_there(std::uint64_t number);
  /// Reads every byte of one, and checks it.
  Status verify(const CheckpointManifest& manifest);
  /// A file of it, if it is what the manifest says.
  Result<PartsReader> read(const CheckpointId& origin, const CheckpointManifest::File& file);
  /// The newest complete one. kAll: every byte of it has been read, and is right. Where newer ones
  /// cannot be used that go on from an older one, those in between are none of theirs, and are
  /// passed over.
  Result<Found> newest(VerifyDepth depth = VerifyDepth::kFrame);
  /// Removes those before the newest `keep` complete ones, at least one, and what was left
  /// unfinished before the newest. Damaged ones among these stay. What cannot be removed stays, and
  /// is the error. `spared` stays too. kAll: every byte of those that count has been read.
  Status prune(std::size_t keep = kKept, std::uint64_t spared = 0,
               VerifyDepth depth = VerifyDepth::kFrame);
  /// As long as what is returned is there nobody else gets it: one job writes to a folder at a
  /// time. `who` is what others read of us. Null: this file system has no locks. Errors:
  /// InvalidArgument, with who has it; and the disk's.
  Result<std::unique_ptr<FileHold>> hold(const std::string& who);
  /// Makes a folder in it and removes that: whether this process may write there.
  Status probe();
  /// Removes one that was not completed and that nobody writes to.
  Status abandon(std::uint64_t number) { return remove(number); }

 private:
  Status remove(std::uint64_t number);
  Result<CheckpointManifest> manifest_of(std::uint64_t number);
  Result<CheckpointManifest> open(std::uint64_t number, VerifyDepth depth);

  Disk& disk_;
  std::string path_;
};

}  // namespace stretto::checkpoint
