// SPDX-License-Identifier: Apache-2.0
// Inspects, verifies and prunes a folder of checkpoints.
#include "tools/checkpoint/commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "tools/checkpoint/attachment_check.h"
#include "tools/checkpoint/inventory.h"
#include "tools/checkpoint/part_check.h"

namespace stretto::checkpoint {
namespace {

std::string numbers_in_words(const std::vector<std::uint64_t>& numbers) {
  std::string words;
  for (const std::uint64_t number : numbers) {
    words += fmt::format("{}{}", words.empty() ? "" : ", ", number);
  }
  return words.empty() ? "none" : words;
}

Result<bool> has_manifest(Disk& disk, const Folder& folder, std::uint64_t number) {
  return disk.exists(folder.path_of(number, kManifestName));
}

struct Verified {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // Total of the files.
};

// Reads every byte of an entry, and checks the head of a part.
Status verify_entry(PartsReader& reader, std::size_t index, const CheckpointManifest& manifest,
                    const Inventory& inventory, const std::string& path) {
  const SavedEntry& entry = reader.entries()[index];
  return reader.read(index, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset != 0 || entry.key.kind != Kind::kPart) return Status();
    const TensorSpec& spec = manifest.tensors[inventory.number_of(entry.key.name)];
    const Status status = head_of(bytes, entry, spec, manifest.part_bytes).status();
    return status.ok() ? Status()
                       : Status(status.code(), fmt::format("'{}': {}", path, status.cause()));
  });
}

// Reports incomplete tensors: they are no error, and cannot be exported.
void say_what_lacks(const CheckpointManifest& manifest, const Inventory& inventory,
                    const Say& say) {
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const Inventory::Tensor& tensor = inventory.tensors()[i];
    const std::optional<std::uint32_t> missing = first_missing(tensor);
    if (!missing || tensor.saved.empty()) continue;
    say(fmt::format("checkpoint {}: of tensor '{}' {} of {} parts are saved, part {} is not",
                    manifest.origin.number, manifest.tensors[i].name, tensor.saved.size(),
                    tensor.parts, *missing));
  }
}

Result<Verified> verify_files(Disk& disk, const Folder& folder, const CheckpointManifest& manifest,
                              Inventory& inventory) {
  Verified verified;
  for (const CheckpointManifest::File& file : manifest.files) {
    Result<PartsReader> reader = open_file(disk, folder, manifest, file);
    if (!reader.ok()) return reader.status();
    const std::string path = folder.path_of(manifest.origin.number, file.name);
    Status status = inventory.add(path, file.entries, reader->entries());
    for (std::size_t i = 0; status.ok() && i < reader->entries().size(); ++i) {
      status = verify_entry(*reader, i, manifest, inventory, path);
    }
    if (!status.ok()) return status;
    verified.entries += file.entries;
    verified.bytes += file.seal.bytes;
  }
  return verified;
}

// Checks that the stripes of each attachment are complete.
Status verify_attached(const Inventory& inventory, const std::string& path) {
  for (const Inventory::Attached& attached : inventory.attached()) {
    Status status = check_whole(attached);
    if (status.ok()) status = check_shape(attached);
    if (!status.ok()) {
      return {status.code(), fmt::format("'{}': {}", path, status.cause())};
    }
  }
  return {};
}

Status verify_checkpoint(Disk& disk, Folder& folder, std::uint64_t number, const Say& say) {
  const Result<CheckpointManifest> manifest = folder.open(number);
  if (!manifest.ok()) return manifest.status();
  Result<Inventory> inventory = Inventory::of(*manifest);
  if (!inventory.ok()) {
    return {
        inventory.status().code(),
        fmt::format("'{}': {}", folder.path_of(number, kManifestName), inventory.status().cause())};
  }
  const Result<Verified> verified = verify_files(disk, folder, *manifest, *inventory);
  if (!verified.ok()) return verified.status();
  if (Status status = verify_attached(*inventory, folder.path_of(number)); !status.ok()) {
    return status;
  }
  say(fmt::format("checkpoint {} is right: step {}, {} files, {} entries, {} bytes", number,
                  manifest->origin.step, manifest->files.size(), verified->entries,
                  verified->bytes));
  say_what_lacks(*manifest, *inventory, say);
  return {};
}

}  // namespace

Result<std::vector<std::uint64_t>> checkpoints_in(Disk& disk, Folder& folder) {
  Result<std::vector<std::uint64_t>> numbers = folder.numbers();
  if (!numbers.ok() || !numbers->empty()) return numbers;
  const Result<bool> is_one = disk.exists(fmt::format("{}/{}", folder.path(), kManifestName));
  const bool inside = is_one.ok() && *is_one;
  return Status(Code::kInvalidArgument,
                fmt::format("'{}' is no folder of checkpoints: {}", folder.path(),
                            inside ? "it is a checkpoint itself; name the folder that it is in"
                                   : "wanted folders ckpt-1, ckpt-2, ... in it, found none"));
}

void say_if_newest_is_lost(Folder& folder, const Say& say) {
  const Result<Folder::Found> found = folder.newest();
  if (!found.ok()) return;
  for (const Folder::Refused& refused : found->refused) {
    if (refused.is_gone) say("warning: " + refused.why.cause());
  }
}

Status verify(Disk& disk, Folder& folder, const Say& say) {
  const Result<std::vector<std::uint64_t>> numbers = checkpoints_in(disk, folder);
  if (!numbers.ok()) return numbers.status();
  say_if_newest_is_lost(folder, say);
  Status first;
  bool any = false;
  for (const std::uint64_t number : *numbers) {
    const Result<bool> finished = has_manifest(disk, folder, number);
    if (!finished.ok()) return finished.status();
    if (!*finished) {
      say(fmt::format("checkpoint {} is not complete: it has no manifest, writing was not finished",
                      number));
      continue;
    }
    any = true;
    Status status = verify_checkpoint(disk, folder, number, say);
    if (status.ok()) continue;
    say(fmt::format("checkpoint {} is wrong: {}", number, status.cause()));
    if (first.ok()) first = std::move(status);
  }
  if (any || !first.ok()) return first;
  return {Code::kMalformed,
          fmt::format("'{}' has no complete checkpoint: writing of {} was not finished",
                      folder.path(), numbers_in_words(*numbers))};
}

Status prune(Disk& disk, Folder& folder, std::size_t keep, const Say& say) {
  const Result<std::vector<std::uint64_t>> before = checkpoints_in(disk, folder);
  if (!before.ok()) return before.status();
  const Result<std::unique_ptr<FileHold>> hold = folder.hold("stretto-checkpoint prune");
  if (!hold.ok()) return hold.status();
  Status pruned = folder.prune(keep, 0, VerifyDepth::kAll);
  const Result<std::vector<std::uint64_t>> after = folder.numbers();
  if (!after.ok()) return pruned.ok() ? after.status() : pruned;
  std::vector<std::uint64_t> gone;
  std::ranges::set_difference(*before, *after, std::back_inserter(gone));
  say(fmt::format("removed: {}", numbers_in_words(gone)));
  say(fmt::format("kept: {}", numbers_in_words(*after)));
  return pruned;
}

}  // namespace stretto::checkpoint
