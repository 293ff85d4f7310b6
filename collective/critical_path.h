// SPDX-License-Identifier: Apache-2.0
// The path of one part through its tree: contributions go up from the leaves and are added on the
// way, then the value goes down. A boundary carries one message at a time each way, and a processor
// handles one, so a parent takes its children's contributions in sequence.
#pragma once

#include <cstdint>

#include "collective/network.h"
#include "collective/tree.h"

namespace stretto::collective {

struct CriticalPath {
  double seconds = 0;      ///< Until the last place of the tree has the value.
  std::uint32_t hops = 0;  ///< Across boundaries, up and down; the maximum over places.
};

/// For a part of this size on an idle network. `borders` are those of `network`.
CriticalPath path_of(const Tree& tree, double bytes, const Network& network,
                     const BoundaryMap& borders);

}  // namespace stretto::collective
