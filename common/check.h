// SPDX-License-Identifier: Apache-2.0
// The assert for what only our own bug can break. It is on in every build; what a peer, a user or a
// file can cause is a Status instead.
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
