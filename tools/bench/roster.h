// SPDX-License-Identifier: Apache-2.0
// roster: what a job of very many workers costs its scheduler, while they join, train and leave.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_roster(const Settings& settings, Output& output);

}  // namespace stretto::bench
