// SPDX-License-Identifier: Apache-2.0
// Job files: a launcher, or a scheduler that was started by hand, describes its job for other
// programs of the same user, so that stretto-top and stretto-trace find the job and its token. A
// file lasts as long as its process; any program that finds a stale file removes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace stretto {

/// A job file's content.
struct KnownJob {
  std::string name;       ///< The user's name for it: its program, or --name.
  std::string scheduler;  ///< host:port.
  std::string command;    ///< For display: without control characters.
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
  std::int64_t started_s = 0;  ///< Since 1970.
  std::int64_t process = 0;    ///< Of the writer; set by known_jobs() and JobFile.
  bool encrypts = false;       ///< Its connections are encrypted,
  bool zmq = false;            ///< and those between hosts are libzmq's.
  std::string token;           ///< Must never be shown.
};

/// Folders for this user's job files, best first: only STRETTO_RUNTIME_DIR if it is set; otherwise
/// stretto/ in XDG_RUNTIME_DIR and in /run/user/UID, if the user owns these, and /tmp/stretto-UID.
std::vector<std::string> job_folders(const Environment& environment);

/// A job's file. Thread: loop.
class JobFile {
 public:
  JobFile() = default;
  ~JobFile() { remove(); }
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  /// Writes the file to the first usable one of `folders`; this process owns it. Errors: Resource,
  /// with the cause at the last folder.
  Status write(const KnownJob& job, const std::vector<std::string>& folders);
  /// Writes the file again if it is gone: a logout removes the user's runtime folder.
  void keep();
  void remove();

 private:
  std::vector<std::string> folders_;
  std::string path_;  // Empty: no file.
  KnownJob job_;
};

/// Possible paths of this process's job file.
std::vector<std::string> own_job_files(const std::vector<std::string>& folders);

/// This user's jobs that are running on this host, the oldest first.
std::vector<KnownJob> known_jobs(const std::vector<std::string>& folders);

/// PROGRAM ARG... as one line for KnownJob::command, shortened.
std::string command_line(const std::vector<std::string>& words);
/// A default job name: the last part of the program's path, or of its script's if the program is
/// Python.
std::string job_name(const std::vector<std::string>& words);

}  // namespace stretto
