// SPDX-License-Identifier: Apache-2.0
// Running another program to its end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

/// Runs `words`, the first looked for in PATH, and waits. An error has the command line and what it
/// said; Unsupported if there is no such program.
Status run_command(std::span<const std::string> words);

/// In a new process: becomes the program `words`. What it says goes to stderr, as stdout is for
/// results. Returns the exit status to end with if that fails.
int become(std::vector<std::string> words);

}  // namespace stretto::bench
