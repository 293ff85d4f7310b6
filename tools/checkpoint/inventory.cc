// SPDX-License-Identifier: Apache-2.0
// What is kept is in proportion to the entries that there are, never to what a file claims.
#include "tools/checkpoint/inventory.h"

#include <fmt/format.h>

#include <utility>

#include "tools/checkpoint/part_check.h"

namespace stretto::checkpoint {
namespace {

Status wrong(const std::string& path, std::string_view what) {
  return {Code::kMalformed, fmt::format("'{}' is not of this checkpoint: {}", path, what)};
}

}  // namespace

Result<Inventory> Inventory::of(const CheckpointManifest& manifest) {
  Inventory inventory(manifest);
  for (const TensorSpec& spec : manifest.tensors) {
    const Result<std::uint32_t> parts = count_parts(spec, manifest.part_bytes);
    if (!parts.ok()) return parts.status();
    inventory.numbers_.emplace(spec.name, inventory.tensors_.size());
    inventory.tensors_.push_back({.parts = *parts});
  }
  return inventory;
}

Status Inventory::add(const std::string& path, std::uint64_t wanted,
                      const std::vector<SavedEntry>& entries) {
  if (entries.size() != wanted) {
    return wrong(
        path, fmt::format("it has {} entries, and the manifest says {}", entries.size(), wanted));
  }
  for (const SavedEntry& entry : entries) {
    if (Status status = add(path, entry); !status.ok()) return status;
  }
  return {};
}

Status Inventory::add(const std::string& path, const SavedEntry& entry) {
  const auto twice = [&] {
    return wrong(path, fmt::format("{} is in another file too", describe(entry.key)));
  };
  if (entry.key.kind == Kind::kAttached) {
    return attached_.emplace(entry.key, entry.bytes).second ? Status() : twice();
  }
  const auto found = numbers_.find(entry.key.name);
  if (found == numbers_.end()) {
    return wrong(
        path, fmt::format("it has {}, and the manifest has no such tensor", describe(entry.key)));
  }
  const TensorSpec& spec = manifest_->tensors[found->second];
  if (Status status = check_entry(entry, spec, manifest_->part_bytes); !status.ok()) {
    return wrong(path, status.cause());
  }
  std::map<std::uint32_t, bool>& saved = tensors_[found->second].saved;
  return saved.emplace(entry.key.part, entry.version > 0).second ? Status() : twice();
}

Result<PartsReader> open_file(Disk& disk, const Folder& folder, const CheckpointManifest& manifest,
                              const CheckpointManifest::File& file) {
  return PartsReader::open(disk, folder.path_of(manifest.origin.number, file.name), file.seal);
}

Result<Inventory> take_inventory(Disk& disk, const Folder& folder,
                                 const CheckpointManifest& manifest) {
  Result<Inventory> inventory = Inventory::of(manifest);
  if (!inventory.ok()) return inventory;
  for (const CheckpointManifest::File& file : manifest.files) {
    const Result<PartsReader> reader = open_file(disk, folder, manifest, file);
    if (!reader.ok()) return reader.status();
    const std::string path = folder.path_of(manifest.origin.number, file.name);
    Status status = inventory->add(path, file.entries, reader->entries());
    if (!status.ok()) return status;
  }
  return inventory;
}

std::optional<std::uint32_t> first_missing(const Inventory::Tensor& tensor) {
  std::uint32_t next = 0;
  for (const auto& [number, has_value] : tensor.saved) {
    if (number != next) break;
    ++next;
  }
  return next < tensor.parts ? std::optional(next) : std::nullopt;
}

}  // namespace stretto::checkpoint
