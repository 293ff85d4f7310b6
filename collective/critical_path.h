// SPDX-License-Identifier: Apache-2.0
// The way of one part through its tree: up from the leaves, added on the way, and its value down
// again. A boundary carries one message at a time each way, and a member's processor works at one,
// so who has many children takes their contributions one after the other.
#pragma once

#include <cstdint>

#include "collective/network.h"
#include "collective/tree.h"

namespace stretto::collective {

struct CriticalPath {
  double seconds = 0;      ///< Until the last place of the tree has the value.
  std::uint32_t hops = 0;  ///< Across boundaries, up and down, of the place with the most.
};

/// Of a part of so many bytes that nothing else is in the way of. `borders` are the network's.
CriticalPath path_of(const Tree& tree, double bytes, const Network& network,
                     const BoundaryMap& borders);

}  // namespace stretto::collective
