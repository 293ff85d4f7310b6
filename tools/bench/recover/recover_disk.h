// SPDX-License-Identifier: Apache-2.0
// What a disk does without Stretto, to hold checkpoints against; and the files of a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

/// A folder of its own, removed with its owner.
class Scratch {
 public:
  /// In `parent`; in the system's folder for such if that is empty.
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

/// Of the newest complete checkpoint in a job's folder.
Result<FileSet> newest_checkpoint(const std::string& folder);

/// Seconds that writing new files takes, `bytes` each, until they are on the device; as many at a
/// time as there are. They are removed again.
Result<double> plain_write_seconds(const std::string& folder, std::uint32_t files,
                                   std::uint64_t bytes);
/// Seconds that reading these files takes, all at a time, each from its begin to its end.
Result<double> plain_read_seconds(const FileSet& files);
/// Of these files nothing is in memory any more, as far as the system heeds it.
Status forget(const FileSet& files);

}  // namespace stretto::bench
