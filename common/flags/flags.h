// SPDX-License-Identifier: Apache-2.0
// Reading a command line into gflags' variables, and saying in --help what they are. gflags by
// itself ends a program with status 1 at --help and at a wrong word, and has flags of its own; ours
// end with 0 and with kUsageStatus, have an error line as everywhere, and no flags but their own.
//
// What a flag's value is called may stand before its description, in capitals or as a choice:
// "HOST:PORT: where the scheduler is", "auto|tcp|shm: how they meet". Man pages and completion are
// made of what --help prints (cmake/make_manuals.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace stretto::flags {

/// The exit status of a program that was given wrong arguments.
inline constexpr int kUsageStatus = 2;

/// What a command line says beside flags.
struct Words {
  bool help = false;  ///< --help or -h, and
  bool version =
      false;  ///< --version, if they are no other flag's value; what follows is not read.
  std::vector<std::string> rest;
};

/// Sets the flags among `words` (--name value, --name=value, --name of a bool; hyphens in names are
/// underscores); after -- there are none. Errors: InvalidArgument, with the word that is wrong.
Result<Words> read(const std::vector<std::string>& words);

/// What --help prints: `usage`, and a line or more for each flag that is not gflags' own.
std::string help(std::string_view usage);

/// Prints the error line of wrong arguments; returns kUsageStatus.
int refuse(const Status& status);

/// What main does with a command line before anything else: --help and --version are answered, and
/// wrong flags refused. An exit status, or the other words in `rest`.
struct Started {
  int exit_status = -1;  ///< -1: the program goes on.
  std::vector<std::string> rest;
};
Started start(int argc, char** argv, const char* name, std::string_view usage);

/// The same for a program that takes nothing but flags; -1, or an exit status.
int start_with_flags_only(int argc, char** argv, const char* name, std::string_view usage);

}  // namespace stretto::flags
