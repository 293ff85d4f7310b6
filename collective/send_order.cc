// SPDX-License-Identifier: Apache-2.0
// Sorts parts and children by their distance after this place.
#include "collective/send_order.h"

#include <algorithm>
#include <numeric>

namespace stretto::collective {

std::vector<std::uint32_t> turns_of(Place self, std::uint32_t places,
                                    const std::vector<Place>& parents) {
  std::vector<std::uint32_t> turns(parents.size());
  std::iota(turns.begin(), turns.end(), 0U);
  const auto distance = [&](std::uint32_t part) {
    const Place parent = parents[part];
    return parent == kNobody ? 0 : (parent + places - self) % places;
  };
  for (std::size_t first = 0; first < turns.size(); first += places) {
    const std::size_t end = std::min<std::size_t>(first + places, turns.size());
    const auto at = [&turns](std::size_t index) {
      return turns.begin() + static_cast<std::ptrdiff_t>(index);
    };
    std::stable_sort(at(first), at(end), [&](std::uint32_t one, std::uint32_t other) {
      return distance(one) < distance(other);
    });
  }
  return turns;
}

std::vector<Place> children_in_turn(const TreeNode& node) {
  std::vector<Place> children = node.children;
  std::rotate(children.begin(), std::upper_bound(children.begin(), children.end(), node.self),
              children.end());
  return children;
}

}  // namespace stretto::collective
