// SPDX-License-Identifier: Apache-2.0
// io: how near the input tuner comes to the best setting of a device, modelled or real.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_io(const Settings& settings, Output& output);

}  // namespace stretto::bench
