// SPDX-License-Identifier: Apache-2.0
// Parses a command line into gflags' variables, and prints --help. gflags alone would exit with
// status 1 at --help and at an unknown flag, and has flags of its own. Stretto's programs exit with
// 0 and with kUsageStatus, print the usual error line, and have only their own flags.
//
// A flag's value name may precede its description, in capitals or as a choice: "HOST:PORT: where
// the scheduler is", "auto|tcp|shm: how they meet". Man pages and completion are generated from
// --help (cmake/make_manuals.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace stretto::flags {

/// The exit status of a program that was given wrong arguments.
inline constexpr int kUsageStatus = 2;

/// The words of a command line apart from its flags.
struct Words {
  bool help = false;     ///< --help or -h, and
  bool version = false;  ///< --version, if these are no other flag's value; the rest is not read.
  std::vector<std::string> rest;
};

/// Sets the flags among `words` (--name value, --name=value, --name of a bool; hyphens in names are
/// underscores); after -- there are none. Errors: InvalidArgument, naming the invalid word.
Result<Words> read(const std::vector<std::string>& words);

/// The text of --help: `usage`, and the description of each flag that is not gflags' own.
std::string help(std::string_view usage);

/// Prints the error line of invalid arguments; returns kUsageStatus.
int refuse(const Status& status);

/// First step of main with a command line: handles --help and --version, and rejects invalid flags.
/// An exit status, or the other words in `rest`.
struct Started {
  int exit_status = -1;  ///< -1: the program continues.
  std::vector<std::string> rest;
};
Started start(int argc, char** argv, const char* name, std::string_view usage);

/// The same for a program that takes only flags; -1, or an exit status.
int start_with_flags_only(int argc, char** argv, const char* name, std::string_view usage);

}  // namespace stretto::flags
