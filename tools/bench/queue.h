// SPDX-License-Identifier: Apache-2.0
// queue: what the send queue costs while much waits.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_queue(const Settings& settings, Output& output);

}  // namespace stretto::bench
