// SPDX-License-Identifier: Apache-2.0
// The capacity of a shaped link: one plain TCP connection without other traffic.
#pragma once

#include "tools/bench/support/lab_exchange.h"

namespace stretto::bench {

/// The seconds for which a link is measured beside its traffic, and the timeout.
inline constexpr double kStreamSeconds = 1;
inline constexpr Duration kStreamPatience = 30s;

/// One TCP connection to the first receiver at full rate; the report has its gigabytes.
LabExchange raw_stream(double seconds);

}  // namespace stretto::bench
