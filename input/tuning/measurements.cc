// SPDX-License-Identifier: Apache-2.0
// Medians against spikes, a pooled variance against few windows.
#include "input/tuning/measurements.h"

#include <algorithm>
#include <cmath>

#include "common/clock.h"

namespace stretto::input {
namespace {

constexpr double kLeastGain = 0.01;    // Less is not worth a move, nor could it be told.
constexpr double kLeastNoise = 0.003;  // Windows end between requests.
constexpr double kGuessedNoise = 0.03;

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void Measurements::add(Point point, const Window& window) {
  Estimate& estimate = estimates_[point];
  const double length = std::max(seconds(window.length), 1e-9);
  estimate.rates.push_back(static_cast<double>(window.delivered_bytes) / length);
  estimate.rate = middle(estimate.rates);
  const double weight = 1 / static_cast<double>(estimate.rates.size());
  const auto average = [weight](double& mean, double value) { mean += weight * (value - mean); };
  average(estimate.mean_latency_s, seconds(window.mean_latency));
  average(estimate.p95_latency_s, seconds(window.p95_latency));
  average(estimate.stall, seconds(window.consumer_stall) / length);
  estimate.occupancy =
      estimate.rate * estimate.mean_latency_s / static_cast<double>(grid_.bytes_in_flight(point));
}

const Estimate* Measurements::find(Point point) const {
  const auto found = estimates_.find(point);
  return found == estimates_.end() ? nullptr : &found->second;
}

namespace {

struct RateSpread {
  double squares = 0;
  double freedom = 0;
};

RateSpread spread_within(const std::map<Point, Estimate>& estimates) {
  RateSpread spread;
  for (const auto& [point, estimate] : estimates) {
    const std::size_t windows = estimate.rates.size();
    if (windows < 2 || estimate.rate <= 0) continue;
    double mean = 0;
    for (const double rate : estimate.rates) mean += rate / static_cast<double>(windows);
    for (const double rate : estimate.rates) spread.squares += std::pow(rate / mean - 1, 2);
    spread.freedom += static_cast<double>(windows - 1);
  }
  return spread;
}

}  // namespace

void Measurements::forget() {
  const RateSpread spread = spread_within(estimates_);
  old_squares_ = (old_squares_ + spread.squares) / 2;
  old_freedom_ = (old_freedom_ + spread.freedom) / 2;
  estimates_.clear();
}

double Measurements::noise() const {
  const RateSpread spread = spread_within(estimates_);
  const double freedom = spread.freedom + old_freedom_;
  if (freedom < 1) return kGuessedNoise;
  return std::max(std::sqrt((spread.squares + old_squares_) / freedom), kLeastNoise);
}

double Measurements::error(const Estimate& estimate) const {
  // A median of normal values is 1.25 times as uncertain as their mean.
  const double windows = static_cast<double>(std::max<std::size_t>(estimate.rates.size(), 1));
  return noise() * (windows > 2 ? 1.25 : 1) / std::sqrt(windows);
}

double Measurements::error(const Estimate& a, const Estimate& b) const {
  return std::hypot(error(a), error(b));
}

bool Measurements::admissible(const Estimate& estimate) const {
  return p95_limit_ == Duration::max() || estimate.p95_latency_s <= seconds(p95_limit_);
}

Verdict Measurements::compare(const Estimate& a, const Estimate& b) const {
  if (admissible(a) != admissible(b)) return admissible(a) ? Verdict::kBetter : Verdict::kWorse;
  const double margin = std::max(kLeastGain, error(a, b));
  const bool by_rate = admissible(a);
  const double of_a = by_rate ? a.rate : b.p95_latency_s;
  const double of_b = by_rate ? b.rate : a.p95_latency_s;
  if (of_a > of_b * (1 + margin)) return Verdict::kBetter;
  return of_a < of_b * (1 - margin) ? Verdict::kWorse : Verdict::kAlike;
}

bool Measurements::decided(const Estimate& a, const Estimate& b, double difference) const {
  const double error_of_both = error(a, b);
  if (2 * error_of_both <= difference) return true;
  return std::abs(a.rate - b.rate) > b.rate * (difference + 3 * error_of_both);
}

}  // namespace stretto::input
