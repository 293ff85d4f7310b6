// SPDX-License-Identifier: Apache-2.0
// Index: the location of every sample of a data set. A reader builds it once at open; samples are
// numbered across all files, so that an order is a permutation of numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "input/formats/byte_source.h"
#include "stretto/input.h"

namespace stretto::input {

/// The location of one sample.
struct Place {
  std::uint32_t file = 0;
  Extent extent;
};

/// Thread: any (immutable).
class Index {
 public:
  struct File {
    std::shared_ptr<const std::string> path;
    std::uint64_t bytes = 0;
    std::uint64_t first = 0;      ///< Number of its first sample.
    std::vector<Extent> extents;  ///< Empty if they follow from the size.
  };

  /// Scans all files, several at a time. With kSkip it skips an unreadable file and adds the error
  /// to `problems`; else it returns the first error, in the order of paths.
  static Result<Index> build(const Options& options, std::vector<Status>& problems);

  std::uint64_t samples() const { return samples_; }
  std::uint64_t bytes() const { return bytes_; }
  const std::vector<File>& files() const { return files_; }
  std::uint32_t file_of(std::uint64_t sample) const;
  Place place(std::uint64_t sample) const;
  /// Hash of the files' names (without folders), sizes and sample locations; equal on workers that
  /// see the same data set.
  std::uint64_t fingerprint() const;

 private:
  Extent extent_in(const File& file, std::uint64_t which) const;

  Format format_ = Format::kFiles;
  std::uint64_t record_bytes_ = 0;
  std::vector<File> files_;
  std::uint64_t samples_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace stretto::input
