// SPDX-License-Identifier: Apache-2.0
// Rounds numbers to the digits that a table or a curve shows: messages to observers have a size
// limit, and 17 digits are most of it.
#pragma once

#include <cmath>

namespace stretto {

/// To four significant digits or so.
inline double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  const double near = std::round(value * scale) / scale;
  return std::isfinite(near) ? near : value;
}

}  // namespace stretto
