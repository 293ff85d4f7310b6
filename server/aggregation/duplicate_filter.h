// SPDX-License-Identifier: Apache-2.0
// DuplicateFilter: the contributions of a part that have counted: the last round of each
// incarnation of a worker. Rounds of one part by one incarnation only grow, so this suffices to
// detect duplicates. Part of a slot's state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class DuplicateFilter {
 public:
  /// 0 for a worker without contributions.
  std::uint64_t last_of(NodeId worker) const {
    const auto place = std::ranges::lower_bound(last_, worker, {}, &Entry::first);
    return place == last_.end() || place->first != worker ? 0 : place->second;
  }
  void note(NodeId worker, std::uint64_t round) {
    auto place = std::ranges::lower_bound(last_, worker, {}, &Entry::first);
    if (place == last_.end() || place->first != worker) place = last_.insert(place, {worker, 0});
    place->second = std::max(place->second, round);
  }
  std::size_t workers() const { return last_.size(); }

 private:
  using Entry = std::pair<NodeId, std::uint64_t>;

  std::vector<Entry> last_;  // In the order of workers.
};

}  // namespace stretto
