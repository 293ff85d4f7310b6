// SPDX-License-Identifier: Apache-2.0
// The places inside each boundary, as bits.
#include "collective/network.h"

namespace stretto::collective {

BoundaryMap::BoundaryMap(const std::vector<Boundary>& boundaries) {
  for (const Boundary& boundary : boundaries) {
    std::vector<bool> inside;
    for (const Place place : boundary.inside) {
      if (place >= inside.size()) inside.resize(place + 1);
      inside[place] = true;
    }
    inside_.push_back(std::move(inside));
  }
}

}  // namespace stretto::collective
