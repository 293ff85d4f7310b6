// SPDX-License-Identifier: Apache-2.0
// The command line, parsed into a Plan. gflags cannot take -np or -n and has no repeated flags. It
// also changes the rest of the line, which PROGRAM must receive as it was typed. Pure: the caller
// passes the function that reads host files.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "stretto/status.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// The text of a file, or the error.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Reads the arguments after the program's own name. Flags end at `--` or at the first word that is
/// no flag; PROGRAM follows. Errors: InvalidArgument, with the flag and the wanted value, or
/// Unsupported for a feature of other builds.
Result<Plan> parse_arguments(std::span<const std::string> arguments, const ReadFile& read_file);

/// What --help prints.
std::string_view help_text();

}  // namespace stretto::launch
