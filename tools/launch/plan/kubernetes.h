// SPDX-License-Identifier: Apache-2.0
// Manifests for Kubernetes: the job as a Secret, Services and Jobs. Pure, and the same text for the
// same plan.
#pragma once

#include <string>

#include "stretto/status.h"
#include "tools/launch/plan/plan.h"

namespace stretto::launch {

/// YAML for `kubectl apply -f -`. `token`: for the Secret; with an empty token the scheduler
/// refuses to start. Errors: InvalidArgument for a name or an amount that Kubernetes would refuse.
Result<std::string> manifests(const Plan& plan, const std::string& token);

}  // namespace stretto::launch
