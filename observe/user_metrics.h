// SPDX-License-Identifier: Apache-2.0
// What a program may report of itself, such as its loss: names and numbers that heartbeats carry
// to the scheduler, and that are shown there. Both ends hold to the same limits.
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

/// True if this can be shown: some bytes of UTF-8 without control characters.
inline bool is_reported_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostReportedNameBytes && printable(name) == name;
}

/// Keeps the number, if it can be shown and there is room for its name.
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
