// SPDX-License-Identifier: Apache-2.0
// Checks other hosts for --check: an agent can start there, its release is ours, and it finds the
// folder and the programs of the job.
#pragma once

#include <vector>

#include "common/clock.h"
#include "tools/launch/plan/command.h"
#include "tools/launch/plan/environment.h"
#include "tools/launch/plan/placement.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/preflight/finding.h"
#include "tools/launch/process/spawn.h"

namespace stretto::launch {

/// A finding for each host but this one, by ssh or srun. Starts only agents.
std::vector<Finding> survey(const Plan& plan, const Placement& placement,
                            const std::string& directory, const Programs& programs,
                            const Variables& inherited, const SignalState& signals,
                            const Clock& clock);

}  // namespace stretto::launch
