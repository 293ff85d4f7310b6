// SPDX-License-Identifier: Apache-2.0
// glibc's two thresholds; setting one alone would switch off what it learns about the other.
#include "common/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace stretto {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
  if (!(file >> pages >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace stretto
