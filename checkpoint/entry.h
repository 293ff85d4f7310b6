// SPDX-License-Identifier: Apache-2.0
// SavedEntry: an entry of a checkpoint file: the bytes of one tensor part or of one worker's
// attachment, and its description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/types.h"

namespace stretto::checkpoint {

/// The checkpoint of a file: files of different checkpoints are never mixed.
struct CheckpointId {
  std::uint64_t job = 0;     ///< Welcome::job of the job that made it.
  std::uint64_t number = 0;  ///< From 1, and greater than the earlier ones in the folder.
  std::uint64_t step = 0;    ///< As the program reported it.
  friend bool operator==(const CheckpointId&, const CheckpointId&) = default;
};

enum class Kind : std::uint8_t {
  kPart = 1,      ///< As Store::save writes it.
  kAttached = 2,  ///< Bytes that the program owns.
};

inline constexpr std::int32_t kOfAll = -1;

struct EntryKey {
  Kind kind = Kind::kPart;
  std::string name;            ///< Of a tensor or an attachment.
  std::uint32_t part = 0;      ///< Of the tensor; attached: of equal bytes, striped over workers.
  std::int32_t rank = kOfAll;  ///< Attached: the owning worker's; kOfAll: replicated.
  friend bool operator==(const EntryKey&, const EntryKey&) = default;
  friend bool operator<(const EntryKey& a, const EntryKey& b) {
    return std::tie(a.kind, a.name, a.part, a.rank) < std::tie(b.kind, b.name, b.part, b.rank);
  }
};

struct SavedEntry {
  EntryKey key;
  std::uint64_t bytes = 0;
  std::uint64_t version = 0;  ///< Of a part's value.
  /// The contributions that a part includes: each worker's last round.
  std::vector<std::pair<NodeId, std::uint64_t>> counted = {};
  /// CRC32C of each kChunkBytes of the entry; the last chunk may be shorter.
  std::vector<std::uint32_t> checksums = {};
  /// Of an attachment: the bytes of all its stripes, its type and its shape.
  std::uint64_t total = 0;
  std::optional<Dtype> dtype = std::nullopt;
  std::string shape = "";
};

/// "part 3 of tensor 'w'", "'random state' of worker 2".
std::string describe(const EntryKey& key);

/// The digest of a file in its manifest, by which a replaced file is detected.
struct FileDigest {
  std::uint64_t bytes = 0;     ///< Of the file.
  std::uint32_t checksum = 0;  ///< CRC32C of its head, index and end. The index has those of the
                               ///< entries, so this covers every byte.
  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

}  // namespace stretto::checkpoint
