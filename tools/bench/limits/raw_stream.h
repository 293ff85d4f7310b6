// SPDX-License-Identifier: Apache-2.0
// What a shaped link carries: one plain TCP connection, with nothing else on it.
#pragma once

#include "tools/bench/support/lab_exchange.h"

namespace stretto::bench {

/// How long a link is measured beside what goes over it, and how long that may take.
inline constexpr double kStreamSeconds = 1;
inline constexpr Duration kStreamPatience = 30s;

/// One TCP connection to the first receiver, as much as it carries: the report has its gigabytes.
LabExchange raw_stream(double seconds);

}  // namespace stretto::bench
