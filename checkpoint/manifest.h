// SPDX-License-Identifier: Apache-2.0
// CheckpointManifest: what makes a checkpoint of files. It is written last: a folder with a right
// one is a complete checkpoint.
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
  std::string made_at = {};  ///< By the wall clock, for people only.
  std::string release = {};  ///< Of Stretto.
  std::uint32_t workers = 0;
  std::uint32_t part_bytes = 0;  ///< STRETTO_PART_BYTES of the job: how tensors were cut.
  /// The one in the same folder that its job went on from; 0: none, or one that lies elsewhere.
  std::uint64_t from = 0;
  std::vector<File> files = {};
  std::vector<TensorSpec> tensors = {};  ///< All that were declared.
  friend bool operator==(const CheckpointManifest&, const CheckpointManifest&) = default;
};

/// A file's text is at most so long.
inline constexpr std::uint64_t kMostManifestBytes = std::uint64_t{1} << 30;

std::string encode(const CheckpointManifest& manifest);
/// Of a file's text; `path` is named in errors. kMalformed if it is damaged or no manifest,
/// kUnsupported if a later version of Stretto has written it.
Result<CheckpointManifest> decode_manifest(std::string_view text, const std::string& path);

/// What a file may be called: a plain name, which leads to no other folder.
bool is_file_name(std::string_view name);

}  // namespace stretto::checkpoint
