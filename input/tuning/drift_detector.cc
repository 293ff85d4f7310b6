// SPDX-License-Identifier: Apache-2.0
// Exponentially weighted averages, and counts of what lies outside.
#include "input/tuning/drift_detector.h"

#include <algorithm>
#include <cmath>

#include "common/clock.h"

namespace stretto::input {
namespace {

constexpr int kInARow = 3;
constexpr std::size_t kRecent = kInARow - 1;  // The first in a row may lie half before a change.
constexpr double kDeviations = 3;
constexpr double kLeastChange = 0.05;  // Less is not worth a search.
constexpr double kWalk = 0.15;         // How far the average may go.
constexpr double kWeight = 0.1;        // Of a new window,
constexpr double kSlowWeight = 0.03;   // and in the variance.
constexpr double kDoubt = 1.25;        // The noise is known from a few windows.

}  // namespace

bool DriftDetector::Track::follow(double value) {
  const double apart = usual > 0 ? value / usual - 1 : 0;
  const double bound = std::max(kLeastChange, kDeviations * std::sqrt(variance));
  if (std::abs(apart) > bound) {
    const int side = apart > 0 ? 1 : -1;
    outside = outside * side > 0 ? outside + side : side;
    return std::abs(outside) >= kInARow;
  }
  outside = 0;
  usual += kWeight * (value - usual);
  variance += kSlowWeight * (apart * apart - variance);
  return std::abs(usual / origin - 1) > std::max(kWalk, bound);
}

void DriftDetector::restart(double bytes_per_second, double latency_s, double noise) {
  const double variance = kDoubt * kDoubt * noise * noise;
  rate_ = {.usual = bytes_per_second, .origin = bytes_per_second, .variance = variance};
  latency_ = {.usual = latency_s, .origin = latency_s, .variance = variance};
  recent_.clear();
}

bool DriftDetector::add(const Window& window) {
  recent_.push_back(window);
  if (recent_.size() > kRecent) recent_.erase(recent_.begin());
  const double length = std::max(seconds(window.length), 1e-9);
  const double rate = static_cast<double>(window.delivered_bytes) / length;
  const double latency = seconds(window.mean_latency);
  const bool rate_changed = rate_.follow(rate);
  return latency_.follow(latency) || rate_changed;
}

}  // namespace stretto::input
