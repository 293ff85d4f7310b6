// SPDX-License-Identifier: Apache-2.0
// Runs the real stretto-launch on shell scripts that play the roles, in a folder of their own. The
// processes write their ids and notes into files of that folder, and report progress through a
// FIFO, so that no test has to sleep.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/descriptor.h"
#include "stretto/types.h"

namespace stretto::launch {

/// The exit status and the output of a launch.
struct Outcome {
  int status = -1;  ///< As in a shell; -1: it did not end in time.
  std::string output;
  std::string errors;

  /// The lines of `output` or `errors` in sorted order: the order of parallel processes varies.
  static std::vector<std::string> sorted_lines(const std::string& text);
  std::string last_error() const;
};

class LaunchFixture : public testing::Test {
 protected:
  // A hung launch fails its test instead of blocking the whole run.
  static constexpr Duration kPatience = 60s;

  /// Creates the folder with a scheduler that listens and exits, and a server that exits.
  void SetUp() override;
  void TearDown() override;

  /// An executable /bin/sh script in the folder. It finds the folder as $HERE; `note TEXT` appends
  /// a line to the file notes, `tell TEXT` writes a line to the FIFO. `remember` appends the
  /// process id to the file ids.
  std::string script(const std::string& name, const std::string& text) const;

  /// Starts stretto-launch --bin-dir FOLDER with `words`. `output` is its stdout; -1: a file.
  void start(const std::vector<std::string>& words, int output = -1);
  Outcome finish();
  Outcome run(const std::vector<std::string>& words) {
    start(words);
    return finish();
  }

  /// The next line that a process writes to the FIFO.
  std::string told();
  /// Lets one process continue that awaits it, now or later.
  void let_go();
  /// Reads the launcher's stderr until it contains `text`; false at a timeout or at its end.
  bool await_error(const std::string& text);
  std::string file(const std::string& name) const;
  std::vector<pid_t> remembered() const;
  /// True once `process_id` has ended; reaps it if it is a child of this process.
  bool gone(pid_t process_id) const;

  std::filesystem::path folder_;
  pid_t launcher_ = -1;

 private:
  // Appends the bytes that can be read until `until`; false at the end or at a timeout.
  bool read_more(const Descriptor& from, std::string& text, Time until) const;

  std::string launcher_path_;
  Descriptor fifo_;     // Lines to this process,
  Descriptor go_fifo_;  // and from it.
  Descriptor errors_;   // The launcher's stderr.
  std::string told_;
  std::string errors_text_;
  SteadyClock clock_;
};

}  // namespace stretto::launch
