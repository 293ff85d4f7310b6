// SPDX-License-Identifier: Apache-2.0
// What a file of a checkpoint holds: entries, each the bytes of one part of a tensor or of what a
// worker has attached, and what is told of them.
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

/// Which checkpoint a file is of: files of different ones are never mixed.
struct CheckpointId {
  std::uint64_t job = 0;     ///< Welcome::job of the job that made it.
  std::uint64_t number = 0;  ///< From 1, and greater than those that lay in the folder before.
  std::uint64_t step = 0;    ///< Of the program, as it said.
  friend bool operator==(const CheckpointId&, const CheckpointId&) = default;
};

enum class Kind : std::uint8_t {
  kPart = 1,      ///< As Store::save writes it.
  kAttached = 2,  ///< Bytes that are the program's own.
};

inline constexpr std::int32_t kOfAll = -1;

struct EntryKey {
  Kind kind = Kind::kPart;
  std::string name;            ///< A tensor's, or what the program has attached them by.
  std::uint32_t part = 0;      ///< Of the tensor; attached: of equal bytes, striped over workers.
  std::int32_t rank = kOfAll;  ///< Attached: of the worker whose own they are.
  friend bool operator==(const EntryKey&, const EntryKey&) = default;
  friend bool operator<(const EntryKey& a, const EntryKey& b) {
    return std::tie(a.kind, a.name, a.part, a.rank) < std::tie(b.kind, b.name, b.part, b.rank);
  }
};

struct SavedEntry {
  EntryKey key;
  std::uint64_t bytes = 0;
  std::uint64_t version = 0;  ///< Of a part's value.
  /// Whose contributions to a part are in it: each worker's last round.
  std::vector<std::pair<NodeId, std::uint64_t>> counted = {};
  /// CRC32C of each kChunkBytes of it; the last chunk may be shorter.
  std::vector<std::uint32_t> checksums = {};
  /// Of what is attached: the bytes of all its stripes, and what the program said that it is.
  std::uint64_t total = 0;
  std::optional<Dtype> dtype = std::nullopt;
  std::string shape = "";
};

/// "part 3 of tensor 'w'", "'random state' of worker 2".
std::string describe(const EntryKey& key);

/// What a manifest says of a file, so that no other can take its place.
struct FileDigest {
  std::uint64_t bytes = 0;     ///< Of the file.
  std::uint32_t checksum = 0;  ///< CRC32C of its head, its index and its end. The index has those
                               ///< of the entries, so this stands for every byte.
  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

inline constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

}  // namespace stretto::checkpoint
