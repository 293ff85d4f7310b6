// SPDX-License-Identifier: Apache-2.0
// preempt: how long something urgent takes while something large is under way on the same link.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_preempt(const Settings& settings, Output& output);

}  // namespace stretto::bench
