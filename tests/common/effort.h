// SPDX-License-Identifier: Apache-2.0
// How often a test repeats what it tries by chance. A sanitizer makes it many times slower, and
// needs to see each line rather than each chance: the release build looks at all of them.
#pragma once

namespace stretto {

#ifdef STRETTO_SANITIZED
inline constexpr unsigned kLess = 6;
inline constexpr unsigned kFarLess = 16;  ///< Of what takes long each time.
#else
inline constexpr unsigned kLess = 1;
inline constexpr unsigned kFarLess = 1;
#endif

/// `count` of them; under a sanitizer fewer, and at least one.
template <typename T>
constexpr T repeated(T count, unsigned less = kLess) {
  return count / static_cast<T>(less) == T{} ? T{1} : count / static_cast<T>(less);
}

}  // namespace stretto
