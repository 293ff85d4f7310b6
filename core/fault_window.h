// SPDX-License-Identifier: Apache-2.0
// The wait of the scheduler, after the first report of a broken link, for reports with the same
// cause. It applies where the job could continue without either end of the link.
#pragma once

#include "stretto/types.h"

namespace stretto {

/// One fault breaks links at different times. An idle link is probed once the first link has fallen
/// silent, for half of `dead_after` (JobSettings).
inline Duration fault_window(Duration dead_after) { return dead_after; }

}  // namespace stretto
