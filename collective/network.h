// SPDX-License-Identifier: Apache-2.0
// Network: where bytes leave and enter, at which rate, and what a message costs besides.
#pragma once

#include <string>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// Where bytes leave and enter: around a member alone on its host, a host's members, a rack's.
struct Boundary {
  std::string name;
  std::vector<Place> inside;
  double rate = 0;  ///< Bytes per second, in and out at once.
};

struct Network {
  std::vector<Boundary> boundaries;
  double start_seconds = 0;  ///< Of a message across a boundary, without its bytes.
  double frame_seconds = 0;  ///< Of a processor, for each frame that is sent or taken,
  double byte_seconds = 0;   ///< and for each of its bytes.
  double processors = 1;     ///< That each member has.
};

/// Which boundaries are around a place. Never changes. Thread: any.
class BoundaryMap {
 public:
  explicit BoundaryMap(const std::vector<Boundary>& boundaries);

  std::size_t size() const { return inside_.size(); }
  bool inside(std::size_t boundary, Place place) const {
    return place < inside_[boundary].size() && inside_[boundary][place];
  }
  /// What goes from one to the other crosses it.
  bool between(std::size_t boundary, Place one, Place other) const {
    return inside(boundary, one) != inside(boundary, other);
  }

 private:
  std::vector<std::vector<bool>> inside_;  // By boundary and place.
};

}  // namespace stretto::collective
