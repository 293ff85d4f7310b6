// SPDX-License-Identifier: Apache-2.0
// Metrics that a program reports, such as its loss. Heartbeats carry names and numbers to the
// scheduler, which shows them. Both ends apply the same limits.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "common/text.h"

namespace stretto {

/// The latest number of each name.
using UserMetricValues = std::map<std::string, double, std::less<>>;

inline constexpr std::size_t kMostReportedNames = 32;  ///< Names of one worker.
inline constexpr std::size_t kMostReportedNameBytes = 64;

/// True if the name can be shown: non-empty UTF-8 within the limit, without control characters.
inline bool is_reported_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostReportedNameBytes && printable(name) == name;
}

/// Stores the number, if it can be shown and there is room for its name; else false.
inline bool keep_reported(UserMetricValues& reported, std::string_view name, double value) {
  if (!std::isfinite(value) || !is_reported_name(name)) return false;
  const auto known = reported.find(name);
  if (known != reported.end()) {
    known->second = value;
    return true;
  }
  if (reported.size() >= kMostReportedNames) return false;
  reported.emplace(name, value);
  return true;
}

}  // namespace stretto
