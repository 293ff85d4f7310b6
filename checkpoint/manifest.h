// SPDX-License-Identifier: Apache-2.0
// CheckpointManifest: lists the files of a checkpoint. It is written last: a folder with a valid
// manifest is a complete checkpoint.
//
// The file is a line "stretto checkpoint 1 crc32c XXXXXXXX", of all that follows it, and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/entry.h"
#include "core/tensor_spec.h"

namespace stretto::checkpoint {

struct CheckpointManifest {
  struct File {
    std::string name;  ///< In the manifest's folder.
    FileDigest seal;
    std::uint64_t entries = 0;
    friend bool operator==(const File&, const File&) = default;
  };

  CheckpointId origin = {};
  std::string made_at = {};  ///< Wall-clock time, for people only.
  std::string release = {};  ///< Of Stretto.
  std::uint32_t workers = 0;
  std::uint32_t part_bytes = 0;  ///< STRETTO_PART_BYTES of the job: how tensors were cut.
  /// The checkpoint in this folder that the job resumed from; 0: none, or one in another folder.
  std::uint64_t from = 0;
  std::vector<File> files = {};
  std::vector<TensorSpec> tensors = {};  ///< All declared tensors.
  friend bool operator==(const CheckpointManifest&, const CheckpointManifest&) = default;
};

/// Limit of a manifest file's size, in bytes.
inline constexpr std::uint64_t kMostManifestBytes = std::uint64_t{1} << 30;

std::string encode(const CheckpointManifest& manifest);
/// Decodes a file's text; errors name `path`. kMalformed if it is damaged or no manifest,
/// kUnsupported if a later version of Stretto wrote it.
Result<CheckpointManifest> decode_manifest(std::string_view text, const std::string& path);

/// Whether the name is valid for a file: plain, without a path to another folder.
bool is_file_name(std::string_view name);

}  // namespace stretto::checkpoint
