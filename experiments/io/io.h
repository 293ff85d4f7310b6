// SPDX-License-Identifier: Apache-2.0
// Measures how close the input tuner comes to a device's best setting.
#pragma once

#include "experiments/io/io_settings.h"
#include "stretto/status.h"
#include "tools/bench/support/output.h"

namespace stretto::bench::experiments {

/// Tunes modelled devices, or the real one by run_io_real.
Status run_io(const IoSettings& settings, Output& output);
Status run_io_real(const IoSettings& settings, Output& output);

}  // namespace stretto::bench::experiments
