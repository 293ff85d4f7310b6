// SPDX-License-Identifier: Apache-2.0
// Memory limits, and malloc's two thresholds: setting only one stops glibc from adapting the other.
#include "common/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

namespace stretto {

namespace {

// Read from /proc/self/statm by system calls alone: there may be no memory for allocations.
struct Pages {
  unsigned long long mapped = 0;
  unsigned long long resident = 0;
};

Pages pages_of_this_process() {
  Pages pages;
  char text[128] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return pages;
  if (::read(file, text, sizeof text - 1) > 0) {
    std::sscanf(text, "%llu %llu", &pages.mapped, &pages.resident);
  }
  ::close(file);
  return pages;
}

}  // namespace

void tell_memory_at_hand(char* into, std::size_t bytes) {
  const auto page_bytes = static_cast<unsigned long long>(::sysconf(_SC_PAGESIZE));
  const Pages pages = pages_of_this_process();
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    std::snprintf(
        into, bytes, "this process has %llu MiB of address space and may have %llu MiB (ulimit -v)",
        pages.mapped * page_bytes >> 20, static_cast<unsigned long long>(limit.rlim_cur) >> 20);
    return;
  }
  const auto left = static_cast<unsigned long long>(::sysconf(_SC_AVPHYS_PAGES));
  std::snprintf(into, bytes, "this process has %llu MiB in memory, and the machine %llu MiB left",
                pages.resident * page_bytes >> 20, left * page_bytes >> 20);
}

OutOfMemory::OutOfMemory(std::size_t wanted_bytes) : wanted_bytes_(wanted_bytes) {
  const int used = std::snprintf(text_, sizeof text_, "wanted %zu bytes more; ", wanted_bytes);
  tell_memory_at_hand(text_ + used, sizeof text_ - static_cast<std::size_t>(used));
}

Status out_of_memory(const std::bad_alloc& thrown) {
  const auto* told = dynamic_cast<const OutOfMemory*>(&thrown);
  return {Code::kResource,
          "out of memory: " + (told != nullptr ? std::string(told->what()) : memory_at_hand())};
}

std::string memory_at_hand() {
  char text[256];
  tell_memory_at_hand(text, sizeof text);
  return text;
}

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
