// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

/// Runs `words`, whose first is looked up in PATH, and waits. An error has the command line and its
/// output; kUnsupported if there is no such program.
Status run_command(std::span<const std::string> words);

/// In a new process: executes the program `words`. Its output goes to stderr, as stdout is for
/// results. Returns an exit status if that fails.
int become(std::vector<std::string> words);

}  // namespace stretto::bench
