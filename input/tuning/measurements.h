// SPDX-License-Identifier: Apache-2.0
// Measurements: what was measured at each point of the grid, how noisy measuring is, and which of
// two points is better as far as the noise lets one say.
#pragma once

#include <map>
#include <vector>

#include "input/tuning/grid.h"

namespace stretto::input {

/// What is known of one point.
struct Estimate {
  std::vector<double> rates;  ///< Bytes a second, of each window.
  double rate = 0;            ///< Median of them (of two, their mean).
  double mean_latency_s = 0;  ///< Means over the windows.
  double p95_latency_s = 0;
  double stall = 0;  ///< Share of the time in which the consumer waited.
  /// Requests that were in flight on average by Little's law, rate * latency / read size, over the
  /// depth: near 1 unless something other than the device holds requests back.
  double occupancy = 0;
};

enum class Verdict : std::uint8_t { kWorse, kAlike, kBetter };

/// Pure. Thread: one at a time.
class Measurements {
 public:
  /// The grid outlives this. Slower than `p95_limit` is not admissible.
  Measurements(const Grid& grid, Duration p95_limit) : grid_(grid), p95_limit_(p95_limit) {}

  void add(Point point, const Window& window);
  const Estimate* find(Point point) const;
  const std::map<Point, Estimate>& all() const { return estimates_; }
  /// The device has changed: what was measured no longer holds, but for half of what is known of
  /// the noise.
  void forget();

  /// Standard deviation of one window's rate, relative to it, pooled over all points. A guess until
  /// some point has been measured twice.
  double noise() const;
  /// Standard error of an estimate, relative.
  double error(const Estimate& estimate) const;
  /// Of the difference between two.
  double error(const Estimate& a, const Estimate& b) const;
  /// Whether the requests are as fast as was asked for.
  bool admissible(const Estimate& estimate) const;
  /// `a` against `b`. What is admissible beats what is not; then the rate decides, or of two that
  /// are too slow, the latency.
  Verdict compare(const Estimate& a, const Estimate& b) const;
  /// True if another window would hardly change what compare() says, where a relative `difference`
  /// matters.
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
