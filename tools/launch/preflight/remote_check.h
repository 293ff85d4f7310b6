// SPDX-License-Identifier: Apache-2.0
// Looks at other hosts for --check: can an agent be started there, is it of our release, and does
// it find the folder and the programs that the job needs?
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

/// A finding for each host but this one, by ssh or srun. Starts agents and nothing else.
std::vector<Finding> survey(const Plan& plan, const Placement& placement,
                            const std::string& directory, const Programs& programs,
                            const Variables& inherited, const SignalState& signals,
                            const Clock& clock);

}  // namespace stretto::launch
