// SPDX-License-Identifier: Apache-2.0
// STRETTO_CHECK: asserts conditions that only a bug of Stretto violates, in every build. Failures
// that a peer, a user or a file can cause are a Status instead.
#pragma once

#include <cstdio>
#include <cstdlib>

#define STRETTO_CHECK(condition)                                                         \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "stretto bug: %s:%d: %s does not hold\n", __FILE__, __LINE__, \
                   #condition);                                                          \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
