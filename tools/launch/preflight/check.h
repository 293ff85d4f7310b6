// SPDX-License-Identifier: Apache-2.0
// --check: whether this plan can start here. It makes all checks, so that one run reports all
// errors.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/preflight/finding.h"

namespace stretto::launch {

/// Runs stretto-scheduler and stretto-server with --version, and an agent on each other host of
/// --via ssh and --via slurm; starts nothing more. `directory`: the processes' working directory.
std::vector<Finding> check(const Plan& plan, const Placement& placement,
                           const std::string& directory, const Variables& inherited,
                           const Clock& clock);

}  // namespace stretto::launch
