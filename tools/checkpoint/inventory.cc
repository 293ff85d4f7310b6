// SPDX-License-Identifier: Apache-2.0
// Memory is proportional to the existing entries, never to what a file claims.
#include "tools/checkpoint/inventory.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/checkpoint/part_check.h"

namespace stretto::checkpoint {
namespace {

Status wrong(const std::string& path, std::string_view what) {
  return {Code::kMalformed, fmt::format("'{}' is not of this checkpoint: {}", path, what)};
}

Status twice(const std::string& path, const EntryKey& key) {
  return wrong(path, fmt::format("{} is in another file too", describe(key)));
}

std::string type_in_words(std::optional<Dtype> dtype) {
  return dtype ? std::string(name_of(*dtype)) : "bytes";
}

// A contradiction between a stripe and earlier stripes of the same attachment.
std::optional<std::string> difference(const SavedEntry& entry, const Inventory::Attached& whole) {
  if (entry.total != whole.total) {
    return fmt::format("of {} bytes in all, and another stripe of it says {}", entry.total,
                       whole.total);
  }
  if (entry.dtype != whole.dtype) {
    return fmt::format("{}, and another stripe of it says {}", type_in_words(entry.dtype),
                       type_in_words(whole.dtype));
  }
  if (entry.shape == whole.shape) return std::nullopt;
  return "of another shape than another stripe of it says";
}

}  // namespace

std::string Inventory::Attached::describe() const {
  return checkpoint::describe({.kind = Kind::kAttached, .name = name, .rank = rank});
}

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
  if (entry.key.kind == Kind::kAttached) return add_stripe(path, entry);
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
  return saved.emplace(entry.key.part, entry.version > 0).second ? Status()
                                                                 : twice(path, entry.key);
}

Status Inventory::add_stripe(const std::string& path, const SavedEntry& entry) {
  const auto [number, is_new] =
      attached_numbers_.emplace(std::pair(entry.key.name, entry.key.rank), attached_.size());
  if (is_new) {
    attached_.push_back({.name = entry.key.name,
                         .rank = entry.key.rank,
                         .total = entry.total,
                         .dtype = entry.dtype,
                         .shape = entry.shape});
  }
  Attached& attached = attached_[number->second];
  if (!attached.stripes.emplace(entry.key.part, entry.bytes).second) return twice(path, entry.key);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  attached.saved += std::min(entry.bytes, kMost - attached.saved);
  const std::optional<std::string> what = difference(entry, attached);
  return what ? wrong(path, fmt::format("{} is said to be {}", describe(entry.key), *what))
              : Status();
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
