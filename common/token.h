// SPDX-License-Identifier: Apache-2.0
// Compares secrets in constant time, so that timing reveals nothing to an attacker.
#pragma once

#include <cstddef>
#include <string_view>

namespace stretto {

/// True if equal. The time does not depend on where they differ.
inline bool same_token(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i] ^ other);
  }
  return difference == 0;
}

}  // namespace stretto
