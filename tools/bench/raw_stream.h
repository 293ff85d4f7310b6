// SPDX-License-Identifier: Apache-2.0
// What a shaped link carries: one plain TCP connection, with nothing else on it.
#pragma once

#include "tools/bench/lab_exchange.h"

namespace stretto::bench {

/// One TCP connection to the first receiver, as much as it carries: the report has its gigabytes.
LabExchange raw_stream(double seconds);

}  // namespace stretto::bench
