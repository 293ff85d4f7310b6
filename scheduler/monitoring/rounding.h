// SPDX-License-Identifier: Apache-2.0
// Numbers for those who look: as many digits as a table or a curve shows, since a message to them
// has a limit, and 17 digits are most of it.
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
