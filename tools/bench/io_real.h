// SPDX-License-Identifier: Apache-2.0
// `io --device real`: the tuner on this machine's disk, beside a grid of settings and one read at a
// time.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_real(const Settings& settings, Output& output);

}  // namespace stretto::bench
