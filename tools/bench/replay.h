// SPDX-License-Identifier: Apache-2.0
// replay: a model's training iterations over links of a given rate, with one schedule of its
// transfers after another.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_replay(const Settings& settings, Output& output);

}  // namespace stretto::bench
