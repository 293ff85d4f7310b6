// SPDX-License-Identifier: Apache-2.0
// Grid: the settings that a tuner considers, as points on a log2 grid of depth and read size. The
// ends of both ladders are the limits themselves, so the last step may be shorter than a doubling.
#pragma once

#include <vector>

#include "input/tuning/tuner_limits.h"

namespace stretto::input {

/// The location of a setting in the grid.
struct Point {
  int depth = 0;
  int size = 0;
  bool operator==(const Point&) const = default;
  bool operator<(const Point& other) const {
    return depth != other.depth ? depth < other.depth : size < other.size;
  }
};

/// A direction in the grid.
struct Step {
  int depth = 0;
  int size = 0;
  bool operator==(const Step&) const = default;
};

/// Pure. Thread: any (a value).
class Grid {
 public:
  /// Corrects contradictory limits: every axis has a value, and the first setting is in the grid.
  explicit Grid(const TunerLimits& limits);

  Knobs knobs(Point point) const;
  std::uint64_t bytes_in_flight(Point point) const { return input::bytes_in_flight(knobs(point)); }
  bool contains(Point point) const;
  /// True if `point` is in the grid and within the memory. The least setting always is.
  bool permits(Point point) const;
  /// The point of `knobs`, or the nearest below them.
  Point nearest(Knobs knobs) const;
  /// The first point to measure: the first setting, or smaller if memory is short.
  Point first() const { return first_; }
  int depths() const { return static_cast<int>(depths_.size()); }
  int sizes() const { return static_cast<int>(sizes_.size()); }

 private:
  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> sizes_;
  std::uint64_t memory_bytes_;
  Point first_;
};

inline Point operator+(Point point, Step step) {
  return {point.depth + step.depth, point.size + step.size};
}
inline Step operator*(Step step, int stride) { return {step.depth * stride, step.size * stride}; }

}  // namespace stretto::input
