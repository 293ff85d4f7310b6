// SPDX-License-Identifier: Apache-2.0
// Running another program to its end.
#pragma once

#include <span>
#include <string>

#include "stretto/status.h"

namespace stretto::bench {

/// Runs `words`, the first looked for in PATH, and waits. An error has the command line and what it
/// said; Unsupported if there is no such program.
Status run_command(std::span<const std::string> words);

}  // namespace stretto::bench
