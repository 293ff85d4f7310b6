// SPDX-License-Identifier: Apache-2.0
// Derives the TAC order of transfers from measured times, as a file for stretto::file_order.
#pragma once

#include <string>
#include <vector>

#include "observe/trace/report.h"
#include "stretto/status.h"

namespace stretto::observe {

/// A line per tensor: name, tab, rank. Tensors are assumed to be used one after the other. Errors:
/// InvalidArgument without measurements, or if a name cannot be written to the file.
Result<std::string> tac_file(const std::vector<trace::Measured>& measured);

}  // namespace stretto::observe
