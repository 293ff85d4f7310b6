// SPDX-License-Identifier: Apache-2.0
// Stands in where libfabric was not there when Stretto was built: there are no limits to show
// and nothing to exchange over.
#include <cstdio>

#include "tools/bench/limits.h"
#include "tools/bench/raw_worker.h"

namespace stretto::bench {

std::vector<Limit> fabric_limits() { return {}; }

int echo_over_fabric(const RawShape&, int) {
  std::fprintf(stderr, "raw exchange: this build has no libfabric\n");
  return 1;
}

std::unique_ptr<RawWorker> make_fabric_worker(const RawShape&, std::uint32_t) { return nullptr; }

}  // namespace stretto::bench
