// SPDX-License-Identifier: Apache-2.0
// The result of a run as one line of JSON.
#pragma once

#include <string>

#include "examples/converge/settings.h"
#include "examples/converge/tasks.h"
#include "examples/converge/training.h"

namespace converge {

/// Evaluates the snapshots on the test samples. A target counts as reached at the first of three
/// consecutive points of the curve that all reach it.
std::string report(const Settings& settings, const Outcome& outcome, Task& task);

}  // namespace converge
