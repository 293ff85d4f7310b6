// SPDX-License-Identifier: Apache-2.0
// How often a test repeats a randomised case. A sanitizer makes cases many times slower, and needs
// to cover each line rather than each chance. The release build too runs only a part of the longest
// cases: docs/SIMULATOR.md says how to run all of them.
#pragma once

namespace stretto {

#ifdef STRETTO_SANITIZED
inline constexpr unsigned kLess = 12;
inline constexpr unsigned kFarLess = 80;  ///< For cases that take long each.
#else
inline constexpr unsigned kLess = 1;
inline constexpr unsigned kFarLess = 3;
#endif

/// `count` repetitions; fewer under a sanitizer, but at least one.
template <typename T>
constexpr T repeated(T count, unsigned less = kLess) {
  return count / static_cast<T>(less) == T{} ? T{1} : count / static_cast<T>(less);
}

}  // namespace stretto
