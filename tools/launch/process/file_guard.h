// SPDX-License-Identifier: Apache-2.0
// FileGuard: a process beside this one that removes files of this one when it is killed by SIGKILL,
// which lets it remove none itself.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace stretto::launch {

/// Thread: loop. To be made while the process has one thread.
class FileGuard {
 public:
  /// `paths`: files, and then folders that are empty without these; they may not exist yet. Without
  /// resources for a process nobody guards them.
  explicit FileGuard(const std::vector<std::string>& paths);
  /// Ends the guard: this process removes its files itself.
  ~FileGuard();
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  /// Of the guard; -1: there is none.
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
};

}  // namespace stretto::launch
