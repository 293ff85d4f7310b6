// SPDX-License-Identifier: Apache-2.0
// Numbers of a message that stand for something: those of later releases are not known here.
#pragma once

namespace stretto::control {

/// The number, unless it is above all that are known here: then 0.
template <typename Enum>
Enum known(int number, Enum last) {
  return number >= 0 && number <= static_cast<int>(last) ? static_cast<Enum>(number) : Enum{};
}

}  // namespace stretto::control
