// SPDX-License-Identifier: Apache-2.0
// Measurements: the measured windows of each grid point, their noise, and which of two points is
// better as far as the noise permits a decision.
#pragma once

#include <map>
#include <vector>

#include "input/tuning/grid.h"

namespace stretto::input {

/// The estimate of one point.
struct Estimate {
  std::vector<double> rates;  ///< Bytes a second, of each window.
  double rate = 0;            ///< Median of them (of two, their mean).
  double mean_latency_s = 0;  ///< Means over the windows.
  double p95_latency_s = 0;
  double stall = 0;  ///< Fraction of the time in which the consumer waited.
  /// Average requests in flight by Little's law, rate * latency / read size, over the depth: near 1
  /// unless something other than the device limits requests.
  double occupancy = 0;
};

enum class Verdict : std::uint8_t { kWorse, kAlike, kBetter };

/// Pure. Thread: one at a time.
class Measurements {
 public:
  /// The grid outlives this. A latency above `p95_limit` is not admissible.
  Measurements(const Grid& grid, Duration p95_limit) : grid_(grid), p95_limit_(p95_limit) {}

  void add(Point point, const Window& window);
  const Estimate* find(Point point) const;
  const std::map<Point, Estimate>& all() const { return estimates_; }
  /// Drops the measurements after a change of the device, but keeps half of the weight of the noise
  /// estimate.
  void forget();

  /// Relative standard deviation of one window's rate, pooled over all points. A default value
  /// until some point has been measured twice.
  double noise() const;
  /// Standard error of an estimate, relative.
  double error(const Estimate& estimate) const;
  /// Relative standard error of the difference of two estimates.
  double error(const Estimate& a, const Estimate& b) const;
  /// Whether the latency of requests is within the limit.
  bool admissible(const Estimate& estimate) const;
  /// Compares `a` with `b`. An admissible estimate beats an inadmissible one. Then the rate
  /// decides, or the latency if both are too slow.
  Verdict compare(const Estimate& a, const Estimate& b) const;
  /// True if another window would hardly change the result of compare(), for a relative
  /// `difference`.
  bool decided(const Estimate& a, const Estimate& b, double difference) const;

 private:
  const Grid& grid_;
  Duration p95_limit_;
  std::map<Point, Estimate> estimates_;
  // Squares of relative deviations within points, and degrees of freedom, before the last forget().
  double old_squares_ = 0;
  double old_freedom_ = 0;
};

}  // namespace stretto::input
