// SPDX-License-Identifier: Apache-2.0
// idle: what every process of a job costs while nobody exchanges anything.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_idle(const Settings& settings, Output& output);

}  // namespace stretto::bench
