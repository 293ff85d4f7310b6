// SPDX-License-Identifier: Apache-2.0
// FileGuard: a helper process that removes this process's files if SIGKILL ends this process, which
// then cannot remove them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace stretto::launch {

/// Thread: loop. Must be created while the process has one thread.
class FileGuard {
 public:
  /// `paths`: files, then folders that become empty without them; they may not exist yet. If no
  /// process can be created, the files stay unguarded.
  explicit FileGuard(const std::vector<std::string>& paths);
  /// Ends the guard: this process removes its files itself.
  ~FileGuard();
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  /// Process id of the guard; -1: there is none.
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
};

}  // namespace stretto::launch
