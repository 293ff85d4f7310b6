// SPDX-License-Identifier: Apache-2.0
// Reading a command line into gflags' variables. gflags by itself ends a program with status 1 at a
// wrong word; ours end with kUsageStatus, and an error line as everywhere.
#pragma once

#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::observe {

/// The exit status of a program that was given wrong arguments.
inline constexpr int kUsageStatus = 2;

/// What a command line says beside flags.
struct Words {
  bool help = false;  ///< --help or -h, and
  bool version =
      false;  ///< --version, if they are no other flag's value; what follows is not read.
  std::vector<std::string> rest;
};

/// Sets the flags among `words` (--name value, --name=value, --name of a bool); after -- there are
/// none. Errors: InvalidArgument, with the word that is wrong.
Result<Words> read_flags(const std::vector<std::string>& words);

/// Prints the error line of wrong arguments; returns kUsageStatus.
int refuse(Status status);

/// What main does with a command line before anything else: --help and --version are answered, and
/// wrong flags refused. An exit status, or the other words in `rest`.
struct Started {
  int exit_status = -1;  ///< -1: the program goes on.
  std::vector<std::string> rest;
};
Started start(int argc, char** argv, const char* name, const char* usage);

}  // namespace stretto::observe
