// SPDX-License-Identifier: Apache-2.0
// Workers of tests: those of ranks 0, 1, ... are the nodes 10, 11, ...
#pragma once

#include "server/aggregation/contributors.h"

namespace stretto::fake {

inline NodeId node_of(Rank rank) { return 10 + rank; }

inline ContributorGroup group_of(std::uint32_t workers) {
  std::vector<Contributor> all;
  for (Rank rank = 0; rank < workers; ++rank) all.push_back({node_of(rank), rank});
  return make_group(std::move(all));
}

}  // namespace stretto::fake
