// SPDX-License-Identifier: Apache-2.0
// Network: the boundaries that bytes cross, their rates, and the fixed cost of a message.
#pragma once

#include <string>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// A network boundary: around a member alone on its host, a host's members, or a rack's.
struct Boundary {
  std::string name;
  std::vector<Place> inside;
  double rate = 0;  ///< Bytes per second, in each direction at once.
};

struct Network {
  std::vector<Boundary> boundaries;
  double start_seconds = 0;  ///< Of a message across a boundary, without its bytes.
  double frame_seconds = 0;  ///< Processor time for each frame sent or received,
  double byte_seconds = 0;   ///< and for each of its bytes.
  double processors = 1;     ///< Of each member.
};

/// The boundaries around each place. Never changes. Thread: any.
class BoundaryMap {
 public:
  explicit BoundaryMap(const std::vector<Boundary>& boundaries);

  std::size_t size() const { return inside_.size(); }
  bool inside(std::size_t boundary, Place place) const {
    return place < inside_[boundary].size() && inside_[boundary][place];
  }
  /// True if a message between the two places crosses the boundary.
  bool between(std::size_t boundary, Place one, Place other) const {
    return inside(boundary, one) != inside(boundary, other);
  }

 private:
  std::vector<std::vector<bool>> inside_;  // By boundary and place.
};

}  // namespace stretto::collective
