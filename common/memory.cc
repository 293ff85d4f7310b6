// SPDX-License-Identifier: Apache-2.0
// glibc's two thresholds; setting one alone would switch off what it learns about the other.
#include "common/memory.h"

#include <malloc.h>

namespace stretto {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

}  // namespace stretto
