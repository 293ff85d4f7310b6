// SPDX-License-Identifier: Apache-2.0
// From entries to parts.
#include "server/restored_parts.h"

#include <fmt/format.h>

#include "checkpoint/carry_over.h"

namespace stretto {
Result<RestoredParts> RestoredParts::open(checkpoint::Folder& folder, std::uint64_t number) {
  Result<checkpoint::CheckpointManifest> manifest = folder.open(number);
  if (!manifest.ok()) return manifest.status();
  RestoredParts restored;
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

Status RestoredParts::load(Part& part) {
  const auto saved = specs_.find(part.spec.name);
  const auto found = parts_.find({part.spec.name, part.key.part});
  if (saved == specs_.end() || found == parts_.end()) return {};
  if (!checkpoint::holds_the_same(saved->second, part.spec)) {
    return {
        Code::kMismatch,
        fmt::format("tensor '{}' is {}, and was {} in the checkpoint that the job goes on from; "
                    "declare it as it was, give it another name, or begin anew (--resume no)",
                    part.spec.name, part.spec.describe(), saved->second.describe())};
  }
  if (!checkpoint::is_of_use(saved->second, part.spec)) return {};
  checkpoint::PartsReader& reader = readers_[found->second.reader];
  Status read = reader.read(found->second.entry,
                            [&part](std::uint64_t offset, std::span<const std::byte> bytes) {
                              return part.store.load(offset, bytes);
                            });
  if (!read.ok()) return read;
  const std::uint64_t bytes = reader.entries()[found->second.entry].bytes;
  if (bytes != part.store.saved_bytes()) {
    return {Code::kMalformed,
            fmt::format("part {} of tensor '{}' was saved in {} bytes, wanted {}", part.key.part,
                        part.spec.name, bytes, part.store.saved_bytes())};
  }
  part.collector.rounds().resume(part.store.value().version);
  return {};
}

}  // namespace stretto
