// SPDX-License-Identifier: Apache-2.0
// codec: how fast one thread encodes parts, and decodes and adds them, held against copying as many
// bytes in the same run.
#pragma once

#include "stretto/status.h"
#include "tools/bench/output.h"
#include "tools/bench/settings.h"

namespace stretto::bench {

Status run_codec(const Settings& settings, Output& output);

}  // namespace stretto::bench
