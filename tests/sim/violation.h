// SPDX-License-Identifier: Apache-2.0
// Violation: what a simulated job has been found to break.
#pragma once

#include <string>

namespace stretto::sim {

/// The first invariant that did not hold.
struct Violation {
  std::string invariant;
  std::string text;
};

}  // namespace stretto::sim
