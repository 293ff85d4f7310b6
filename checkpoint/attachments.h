// SPDX-License-Identifier: Apache-2.0
// What workers hold, in a checkpoint: each worker writes its own attachments and a stripe of those
// that all have alike to a file of its own. Whoever reads them asks by name.
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

/// A worker's place among those who make a checkpoint.
struct StripeOwner {
  std::uint32_t position = 0;  ///< By rank.
  std::uint32_t of = 1;
  bool striped = true;  ///< What all say they have alike is alike.
};

/// A range of an attachment's bytes, which one worker writes.
struct AttachmentRange {
  std::size_t item = 0;  ///< Which attachment.
  EntryKey key;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

/// kInvalidArgument for names that are empty, too long or there twice, for elements that do not
/// make up the bytes.
Status check_attachments(std::span<const Attachment> attachments);
/// What this worker writes: its own, and of those that all have alike, one after another, an equal
/// share, at least in bytes; or all of them, or none, if they are not alike. Pure.
std::vector<AttachmentRange> pieces_of(std::span<const Attachment> attachments,
                                       const StripeOwner& seat);
/// The same at workers whose alike attachments are the same, in name, order and content. 0: none.
std::uint64_t digest_of_alike(std::span<const Attachment> attachments);

/// A file that was written for a checkpoint.
struct WrittenFile {
  std::string name;  ///< Empty: there was nothing to write.
  FileDigest seal;
  std::uint64_t entries = 0;
};
/// One of these, with what a file says of it.
struct WrittenPiece {
  SavedEntry entry;
  std::span<const std::byte> bytes;
};
/// pieces_of(), with their bytes, which are the attachments'.
std::vector<WrittenPiece> pieces_to_write(std::span<const Attachment> attachments,
                                          const StripeOwner& seat);
/// Writes them to the file of the worker of this position, and they are on the device. Calls block.
/// kCancelled once `goes_on` says no: it is asked now and then.
Result<WrittenFile> write_pieces(Folder& folder, const CheckpointId& origin, std::uint32_t position,
                                 std::span<const WrittenPiece> pieces,
                                 const std::function<bool()>& goes_on = nullptr);

/// The attachments of a complete checkpoint. Thread: any, one at a time; calls block.
class AttachedReader {
 public:
  static Result<AttachedReader> open(Folder& folder, std::uint64_t number);
  /// Of one whose files have been written, and which may not be complete yet.
  static Result<AttachedReader> of(Folder& folder, const CheckpointManifest& manifest);

  /// All, by name and rank.
  const std::vector<Attached>& all() const { return all_; }
  /// Its place in all(), if there is one.
  std::optional<std::size_t> find(const std::string& name, std::int64_t rank) const;
  /// All of its bytes, checked, into a place of that size. With an error some may have come.
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
  std::vector<std::vector<Stripe>> stripes_;  // Of each of all.
};

}  // namespace stretto::checkpoint
