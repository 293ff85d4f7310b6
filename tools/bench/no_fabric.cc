// SPDX-License-Identifier: Apache-2.0
// Stands in where libfabric was not there when Stretto was built: it has no limits to show.
#include "tools/bench/limits.h"

namespace stretto::bench {

std::vector<Limit> fabric_limits() { return {}; }

}  // namespace stretto::bench
