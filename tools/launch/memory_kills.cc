// SPDX-License-Identifier: Apache-2.0
// One line of /proc/vmstat, "oom_kill 3" (Linux 4.13). Without it nothing is explained.
#include "tools/launch/memory_kills.h"

#include <fstream>
#include <utility>

namespace stretto::launch {

MemoryKills::MemoryKills(std::string counters) : counters_(std::move(counters)) { forget(); }

void MemoryKills::forget() { explained_ = count(); }

bool MemoryKills::explain_one() {
  if (count() <= explained_) return false;
  ++explained_;
  return true;
}

std::uint64_t MemoryKills::count() const {
  std::ifstream file(counters_);
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

}  // namespace stretto::launch
