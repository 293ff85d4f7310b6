// SPDX-License-Identifier: Apache-2.0
// StoredIndex: the locations of the records of a large file, kept on disk, so that a data set is
// not read again at each open. An index is valid for one path, size, change time, format and limit;
// any other index, or a damaged index, is ignored.
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

/// The identity of an index. Each change of the file changes `changed_ns`; programs cannot set it.
struct IndexKey {
  std::string path;  ///< Absolute.
  Format format = Format::kTfRecord;
  std::uint64_t max_sample_bytes = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const IndexKey&) const = default;
};

IndexKey index_key(const Options& options, const std::string& path, const struct stat& about);

/// The content of an index file.
std::string encode_index(const IndexKey& key, const std::vector<Extent>& extents);
/// Errors: kMismatch for another key; kMalformed for a wrong checksum, or for extents that are out
/// of order or exceed the file size of the key.
Result<std::vector<Extent>> decode_index(const IndexKey& key, std::string_view bytes);

/// A folder of indexes. Thread: any. Several processes may share it: files appear atomically, and
/// the later of two equal files stays.
class IndexFolder {
 public:
  /// With an empty path nothing is stored.
  explicit IndexFolder(std::string path) : path_(std::move(path)) {}

  /// Files below this size are read as fast as their index would be.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;

  std::optional<std::vector<Extent>> load(const IndexKey& key) const;
  /// After a failed store the next reader scans the file again. Only the first failure is logged.
  void store(const IndexKey& key, const std::vector<Extent>& extents);
  /// The path of a key's index file.
  std::string file_of(const IndexKey& key) const;

 private:
  bool keeps(const IndexKey& key) const { return !path_.empty() && key.bytes >= kLeastBytes; }

  const std::string path_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace stretto::input
