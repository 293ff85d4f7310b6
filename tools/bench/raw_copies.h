// SPDX-License-Identifier: Apache-2.0
// The limit of an exchange by shared memory: the copies and sums that it is made of
// (docs/ARCHITECTURE.md), done by as many processes at once, and nothing else: no frames, no
// waiting for one another.
#pragma once

#include "tools/bench/raw_exchange.h"

namespace stretto::bench {

/// Each worker copies every part into memory that servers see, and what a server has made of it
/// into its own; each server copies the first share of its parts and adds the others. The rate is
/// that of the time until all have done.
Result<Rates> measure_copies(const RawShape& shape);

}  // namespace stretto::bench
