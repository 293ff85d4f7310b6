// SPDX-License-Identifier: Apache-2.0
// Networks for tests that reckon times by hand.
#pragma once

#include <string>
#include <vector>

#include "collective/network.h"

namespace stretto::collective {

/// Each member alone on a host, with a link of this rate.
inline Network hosts_of(const std::vector<double>& rates) {
  Network network;
  for (Place place = 0; place < rates.size(); ++place) {
    network.boundaries.push_back(
        {.name = "host " + std::to_string(place), .inside = {place}, .rate = rates[place]});
  }
  return network;
}

}  // namespace stretto::collective
