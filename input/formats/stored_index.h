// SPDX-License-Identifier: Apache-2.0
// StoredIndex: where the records of a large file are, kept on disk, so that opening a data set
// again does not read all of it again. What is kept holds for one path, size, time of change,
// format and limit; anything else, and anything that is not whole, is as if it were not there.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "input/formats/byte_source.h"
#include "stretto/input.h"

struct stat;

namespace stretto::input {

/// What an index is of. Each change of the file changes `changed_ns`, which no program can set.
struct IndexKey {
  std::string path;  ///< From the root on.
  Format format = Format::kTfRecord;
  std::uint64_t max_sample_bytes = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const IndexKey&) const = default;
};

IndexKey index_key(const Options& options, const std::string& path, const struct stat& about);

/// As it stands in its file.
std::string encode_index(const IndexKey& key, const std::vector<Extent>& extents);
/// kMismatch if it is another key's, kMalformed if its checksum or its numbers cannot be: extents
/// are one behind the other, and lie in a file of the key's size.
Result<std::vector<Extent>> decode_index(const IndexKey& key, std::string_view bytes);

/// A folder of indexes. Thread: any. Several processes may share it: a file appears in it whole,
/// and of two that are the same the last one stays.
class IndexFolder {
 public:
  /// An empty path: nothing is kept.
  explicit IndexFolder(std::string path) : path_(std::move(path)) {}

  /// Files below this size are read as fast as their index would be.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;

  std::optional<std::vector<Extent>> load(const IndexKey& key) const;
  /// What cannot be kept is found again next time: the first failure is logged.
  void store(const IndexKey& key, const std::vector<Extent>& extents);
  /// The file of a key.
  std::string file_of(const IndexKey& key) const;

 private:
  bool keeps(const IndexKey& key) const { return !path_.empty() && key.bytes >= kLeastBytes; }

  const std::string path_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace stretto::input
