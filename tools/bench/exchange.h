// SPDX-License-Identifier: Apache-2.0
// push_pull, push and pull: Stretto and its limit, by turns.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_exchange(const Settings& settings, Output& output);

}  // namespace stretto::bench
