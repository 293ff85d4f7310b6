// SPDX-License-Identifier: Apache-2.0
// The command line, read into a Plan. A parser of our own: gflags cannot take -np or -n, has no
// repeated flags, and changes the rest of the line, which belongs to PROGRAM and must reach it as
// it was typed. Pure: host files are read by a function that is handed in.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "stretto/status.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// The text of a file, or why there is none.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Reads the arguments after the program's own name. Flags end at `--` or at the first word that is
/// no flag; what follows is PROGRAM. Errors: InvalidArgument, naming the flag and what was wanted,
/// or Unsupported for what only other builds can do.
Result<Plan> parse_arguments(std::span<const std::string> arguments, const ReadFile& read_file);

/// What --help prints.
std::string_view help_text();

}  // namespace stretto::launch
