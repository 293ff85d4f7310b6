// SPDX-License-Identifier: Apache-2.0
// How often a test repeats what it tries by chance. A sanitizer makes it many times slower, and
// needs to see each line rather than each chance: the release build looks at all of them.
#pragma once

namespace stretto {

#ifdef STRETTO_SANITIZED
inline constexpr unsigned kLess = 6;
#else
inline constexpr unsigned kLess = 1;
#endif

/// `count` of them; under a sanitizer fewer, and at least one.
template <typename T>
constexpr T repeated(T count) {
  return count / T{kLess} == T{} ? T{1} : count / T{kLess};
}

}  // namespace stretto
