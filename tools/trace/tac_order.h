// SPDX-License-Identifier: Apache-2.0
// From measured times to an order of transfers by TAC, as a file that stretto::file_order reads.
#pragma once

#include <string>
#include <vector>

#include "observe/trace/report.h"
#include "stretto/status.h"

namespace stretto::observe {

/// A line for each tensor: name, tab, rank. Tensors are taken to be used one after the other.
/// Errors: InvalidArgument if nothing was measured, or a name cannot stand in such a file.
Result<std::string> tac_file(const std::vector<trace::Measured>& measured);

}  // namespace stretto::observe
