// SPDX-License-Identifier: Apache-2.0
// How long after the first report of a broken link the scheduler waits for those of other links
// with the same cause, where the job could go on without either end of the link.
#pragma once

#include "stretto/types.h"

namespace stretto {

/// Links that one fault silences are given up at different moments: those that carry nothing then
/// are probed once the first has fallen silent, for half of `dead_after` (JobSettings).
inline Duration fault_window(Duration dead_after) { return dead_after; }

}  // namespace stretto
