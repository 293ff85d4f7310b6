// SPDX-License-Identifier: Apache-2.0
// Medians and quantiles of measurements. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace stretto::bench {

/// The smallest value of `sorted` that at least the fraction `share` (0 to 1) does not exceed
/// (nearest rank). 0 if empty.
inline double quantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

/// The results of repeated measurements.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// All 0 if empty. The median of an even number is the mean of the middle two.
inline Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

inline double median_of(std::vector<double> values) { return spread_of(std::move(values)).median; }

/// The result of `value`, a member or a function of an element, for each of them.
template <typename T, typename Value>
std::vector<double> values_of(const std::vector<T>& all, const Value& value) {
  std::vector<double> values;
  for (const T& each : all) values.push_back(std::invoke(value, each));
  return values;
}
template <typename T, typename Value>
double median_over(const std::vector<T>& all, const Value& value) {
  return median_of(values_of(all, value));
}

}  // namespace stretto::bench
