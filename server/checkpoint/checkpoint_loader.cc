// SPDX-License-Identifier: Apache-2.0
// Loads parts from entries.
#include "server/checkpoint/checkpoint_loader.h"

#include <fmt/core.h>

#include "checkpoint/carry_forward.h"

namespace stretto {
Result<CheckpointLoader> CheckpointLoader::open(checkpoint::Folder& folder, std::uint64_t number) {
  Result<checkpoint::CheckpointManifest> manifest = folder.open(number);
  if (!manifest.ok()) return manifest.status();
  CheckpointLoader restored;
  for (const auto& file : manifest->files) {
    Result<checkpoint::PartsReader> reader = folder.read(manifest->origin, file);
    if (!reader.ok()) return reader.status();
    const auto& entries = reader->entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const checkpoint::EntryKey& key = entries[i].key;
      if (key.kind != checkpoint::Kind::kPart) continue;
      const Found found{.reader = restored.readers_.size(), .entry = i};
      if (restored.parts_.try_emplace({key.name, key.part}, found).second) continue;
      return Status(Code::kMalformed, fmt::format("{} is twice in checkpoint {}", describe(key),
                                                  folder.path_of(number)));
    }
    restored.readers_.push_back(*std::move(reader));
  }
  for (TensorSpec& spec : manifest->tensors) restored.specs_.emplace(spec.name, std::move(spec));
  return restored;
}

Result<std::vector<std::byte>> CheckpointLoader::read(const Name& name) {
  const Found& found = parts_.at(name);
  checkpoint::PartsReader& reader = readers_[found.reader];
  std::vector<std::byte> saved;
  saved.reserve(reader.entries()[found.entry].bytes);
  Status status = reader.read(found.entry, [&](std::uint64_t, std::span<const std::byte> bytes) {
    saved.insert(saved.end(), bytes.begin(), bytes.end());
    return Status();
  });
  if (!status.ok()) return status;
  return saved;
}

Status CheckpointLoader::load(Part& part, std::span<const std::byte> bytes) const {
  const auto saved = specs_.find(part.spec.name);
  if (saved == specs_.end()) return {};
  if (!checkpoint::holds_the_same(saved->second, part.spec)) {
    return {
        Code::kMismatch,
        fmt::format("tensor '{}' is {}, and was {} in the checkpoint that the job goes on from; "
                    "declare it as it was, give it another name, or begin anew (--resume no)",
                    part.spec.name, part.spec.describe(), saved->second.describe())};
  }
  if (!checkpoint::is_of_use(saved->second, part.spec)) return {};
  if (Status loaded = part.store.load(0, bytes); !loaded.ok()) return loaded;
  if (bytes.size() != part.store.saved_bytes()) {
    return {Code::kMalformed,
            fmt::format("part {} of tensor '{}' was saved in {} bytes, wanted {}", part.key.part,
                        part.spec.name, bytes.size(), part.store.saved_bytes())};
  }
  part.collector.rounds().resume(part.store.value().version);
  return {};
}

}  // namespace stretto
