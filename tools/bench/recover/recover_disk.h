// SPDX-License-Identifier: Apache-2.0
// A disk's rates without Stretto, as a reference for checkpoints, and a checkpoint's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

/// A temporary folder, removed by the destructor.
class Scratch {
 public:
  /// In `parent`; empty: in the system's temporary folder.
  static Result<Scratch> make(const std::string& parent);

  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

struct FileSet {
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;
};

/// The files of the newest complete checkpoint in a job's folder.
Result<FileSet> newest_checkpoint(const std::string& folder);

/// Seconds to write `files` new files of `bytes` bytes to the device, all in parallel. Removes them
/// afterwards.
Result<double> plain_write_seconds(const std::string& folder, std::uint32_t files,
                                   std::uint64_t bytes);
/// Seconds to read these files completely, all in parallel.
Result<double> plain_read_seconds(const FileSet& files);
/// Drops these files from the page cache, as far as the system complies.
Status forget(const FileSet& files);

}  // namespace stretto::bench
