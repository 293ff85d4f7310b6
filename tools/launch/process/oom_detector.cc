// SPDX-License-Identifier: Apache-2.0
// One line of /proc/vmstat, "oom_kill 3" (Linux 4.13). Without it nothing is explained.
#include "tools/launch/process/oom_detector.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace stretto::launch {

OomDetector::OomDetector(std::string counters)
    : counters_(std::move(counters)), counted_(count()) {}

void OomDetector::look(Time now) {
  while (!seen_.empty() && now - seen_.front() > kExplainsFor) seen_.pop_front();
  const std::uint64_t counts = count();
  const std::uint64_t more = counts > counted_ ? counts - counted_ : 0;
  counted_ = counts;
  seen_.insert(seen_.end(), std::min<std::uint64_t>(more, kMost - seen_.size()), now);
}

bool OomDetector::explain_one(Time now) {
  look(now);
  if (seen_.empty()) return false;
  seen_.pop_front();
  return true;
}

std::uint64_t OomDetector::count() const {
  std::ifstream file(counters_);
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

}  // namespace stretto::launch
