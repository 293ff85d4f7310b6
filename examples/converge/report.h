// SPDX-License-Identifier: Apache-2.0
// What a run came to, as one line of JSON.
#pragma once

#include <string>

#include "examples/converge/settings.h"
#include "examples/converge/tasks.h"
#include "examples/converge/training.h"

namespace converge {

/// Evaluates the snapshots on the test samples. A target counts as reached by the first of three
/// points of the curve in a row that all have it.
std::string report(const Settings& settings, const Outcome& outcome, Task& task);

}  // namespace converge
