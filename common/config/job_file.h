// SPDX-License-Identifier: Apache-2.0
// Job files: what a launcher, or a scheduler that was started by hand, writes down of its job for
// the other programs of the same user, so that stretto-top and stretto-trace find it and its token.
// A file lives as long as the process that wrote it; one that was left behind is removed by whoever
// finds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace stretto {

/// What is written down of a job.
struct KnownJob {
  std::string name;       ///< As the user calls it: its program, or --name.
  std::string scheduler;  ///< host:port.
  std::string command;    ///< For show: without control characters.
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
  std::int64_t started_s = 0;  ///< Since 1970.
  std::int64_t process = 0;    ///< Of the writer; known_jobs() and JobFile say it.
  bool encrypts = false;       ///< Its links are encrypted,
  bool zmq = false;            ///< and those between hosts are libzmq's.
  std::string token;           ///< Never to be shown.
};

/// Where this user's files may lie, best first: STRETTO_RUNTIME_DIR and nowhere else, if that is
/// set; else stretto/ in XDG_RUNTIME_DIR and in /run/user/UID, where these are the user's own, and
/// /tmp/stretto-UID.
std::vector<std::string> job_folders(const Environment& environment);

/// A job's file. Thread: loop.
class JobFile {
 public:
  JobFile() = default;
  ~JobFile() { remove(); }
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  /// Writes it, to the first of `folders` where that can be done; it belongs to this process.
  /// Errors: Resource, with what spoke against the last folder.
  Status write(const KnownJob& job, const std::vector<std::string>& folders);
  /// Writes it again if it has gone: a login's end takes the runtime folder of its user along.
  void keep();
  void remove();

 private:
  std::vector<std::string> folders_;
  std::string path_;  // Empty: there is none.
  KnownJob job_;
};

/// Where this process's job file may lie.
std::vector<std::string> own_job_files(const std::vector<std::string>& folders);

/// This user's jobs that are running on this host, the oldest first.
std::vector<KnownJob> known_jobs(const std::vector<std::string>& folders);

/// PROGRAM ARG... as one line for KnownJob::command, shortened.
std::string command_line(const std::vector<std::string>& words);
/// What a job of that command is called: the last part of the program's path, or of its script's
/// if the program is Python.
std::string job_name(const std::vector<std::string>& words);

}  // namespace stretto
