// SPDX-License-Identifier: Apache-2.0
// Workers' attachments in a checkpoint: each worker writes its own, and a stripe of the replicated
// ones, to a file of its own. Readers find them by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "stretto/attachment.h"

namespace stretto::checkpoint {

/// A worker's position among the workers that write a checkpoint.
struct StripeOwner {
  std::uint32_t position = 0;  ///< By rank.
  std::uint32_t of = 1;
  bool striped = true;  ///< Replicated attachments are identical on all workers.
};

/// A range of an attachment's bytes, which one worker writes.
struct AttachmentRange {
  std::size_t item = 0;  ///< Index of the attachment.
  EntryKey key;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

/// kInvalidArgument for names that are empty, too long or duplicate, and for shapes that do not
/// match the number of bytes.
Status check_attachments(std::span<const Attachment> attachments);
/// The ranges that this worker writes: its own attachments, and an equal part, in bytes, of the row
/// of replicated ones. Not `striped`: position 0 writes all of that row. Pure.
std::vector<AttachmentRange> pieces_of(std::span<const Attachment> attachments,
                                       const StripeOwner& seat);
/// Equal on workers whose replicated attachments have the same names, order and bytes. 0: none.
std::uint64_t digest_of_alike(std::span<const Attachment> attachments);

/// A file written for a checkpoint.
struct WrittenFile {
  std::string name;  ///< Empty: there was nothing to write.
  FileDigest seal;
  std::uint64_t entries = 0;
};
/// A range with its entry in the file.
struct WrittenPiece {
  SavedEntry entry;
  std::span<const std::byte> bytes;
};
/// The ranges of pieces_of() with their bytes, which the attachments own.
std::vector<WrittenPiece> pieces_to_write(std::span<const Attachment> attachments,
                                          const StripeOwner& seat);
/// Writes the pieces to the file of the worker at `position`, and syncs it. Calls block. Polls
/// `goes_on`; kCancelled once that returns false.
Result<WrittenFile> write_pieces(Folder& folder, const CheckpointId& origin, std::uint32_t position,
                                 std::span<const WrittenPiece> pieces,
                                 const std::function<bool()>& goes_on = nullptr);

/// The attachments of a complete checkpoint. Thread: any, one at a time; calls block.
class AttachedReader {
 public:
  static Result<AttachedReader> open(Folder& folder, std::uint64_t number);
  /// Of a checkpoint whose files have been written, and which may still be incomplete.
  static Result<AttachedReader> of(Folder& folder, const CheckpointManifest& manifest);

  /// All attachments, by name and rank.
  const std::vector<Attached>& all() const { return all_; }
  /// The index in all(), if it exists.
  std::optional<std::size_t> find(const std::string& name, std::int64_t rank) const;
  /// Reads and checks all bytes into `target` of that size. On an error part of it may be written.
  Status read(std::size_t index, std::span<std::byte> target);

 private:
  struct Stripe {
    std::size_t reader = 0;
    std::size_t entry = 0;
  };
  Status add(const SavedEntry& entry, Stripe stripe);
  Status take_stripes();

  std::vector<PartsReader> readers_;
  // By name and rank, then by stripe.
  std::map<std::pair<std::string, std::int64_t>, std::map<std::uint32_t, Stripe>> found_;
  std::vector<Attached> all_;
  std::vector<std::vector<Stripe>> stripes_;  // For each of all_.
};

}  // namespace stretto::checkpoint
