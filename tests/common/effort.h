// SPDX-License-Identifier: Apache-2.0
// How often a test repeats what it tries by chance. A sanitizer makes it many times slower, and
// needs to see each line rather than each chance. Of what takes long each time, the release build
// too tries a part only: docs/SIMULATOR.md tells how to try all of it.
#pragma once

namespace stretto {

#ifdef STRETTO_SANITIZED
inline constexpr unsigned kLess = 12;
inline constexpr unsigned kFarLess = 80;  ///< Of what takes long each time.
#else
inline constexpr unsigned kLess = 1;
inline constexpr unsigned kFarLess = 3;
#endif

/// `count` of them; under a sanitizer fewer, and at least one.
template <typename T>
constexpr T repeated(T count, unsigned less = kLess) {
  return count / static_cast<T>(less) == T{} ? T{1} : count / static_cast<T>(less);
}

}  // namespace stretto
