// SPDX-License-Identifier: Apache-2.0
// Enumerators in messages: those of later releases are unknown here.
#pragma once

namespace stretto::control {

/// Converts a number to the enumerator; 0 if it exceeds `last`.
template <typename Enum>
Enum known(int number, Enum last) {
  return number >= 0 && number <= static_cast<int>(last) ? static_cast<Enum>(number) : Enum{};
}

}  // namespace stretto::control
