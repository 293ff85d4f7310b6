// SPDX-License-Identifier: Apache-2.0
// Ladders of powers of two between two ends.
#include "input/tuning/grid.h"

#include <algorithm>

namespace stretto::input {
namespace {

std::vector<std::uint32_t> ladder(std::uint32_t least, std::uint32_t most) {
  const std::uint32_t bottom = std::max(least, 1U);
  std::vector<std::uint32_t> rungs{bottom};
  for (std::uint64_t rung = 1; rung < most; rung *= 2) {
    if (rung > bottom) rungs.push_back(static_cast<std::uint32_t>(rung));
  }
  if (most > rungs.back()) rungs.push_back(most);
  return rungs;
}

int rung_below(const std::vector<std::uint32_t>& rungs, std::uint32_t value) {
  const auto above = std::upper_bound(rungs.begin(), rungs.end(), value);
  return std::max(static_cast<int>(above - rungs.begin()) - 1, 0);
}

}  // namespace

Grid::Grid(const TunerLimits& limits)
    : depths_(ladder(limits.least.depth, limits.most.depth)),
      sizes_(ladder(limits.least.read_bytes, limits.most.read_bytes)),
      memory_bytes_(limits.memory_bytes),
      first_(nearest(limits.first)) {
  while (!permits(first_)) --(first_.depth > 0 ? first_.depth : first_.size);
}

Knobs Grid::knobs(Point point) const {
  return {depths_[static_cast<std::size_t>(point.depth)],
          sizes_[static_cast<std::size_t>(point.size)]};
}

bool Grid::contains(Point point) const {
  return point.depth >= 0 && point.depth < depths() && point.size >= 0 && point.size < sizes();
}

bool Grid::permits(Point point) const {
  if (point == Point{}) return true;
  return contains(point) && bytes_in_flight(point) <= memory_bytes_;
}

Point Grid::nearest(Knobs knobs) const {
  return {rung_below(depths_, knobs.depth), rung_below(sizes_, knobs.read_bytes)};
}

}  // namespace stretto::input
