// SPDX-License-Identifier: Apache-2.0
// MemoryKills: whether a process that died by SIGKILL may have died for lack of memory. The kernel
// tells nobody whom it chose, and counts how often it had to choose: on this host, or by the limit
// of a control group there. Who was killed just as that count grew is taken for one of those.
#pragma once

#include <cstdint>
#include <string>

namespace stretto::launch {

/// Thread: loop.
class MemoryKills {
 public:
  static constexpr const char* kCounters = "/proc/vmstat";

  explicit MemoryKills(std::string counters = kCounters);

  /// Some process begins, or ends otherwise: what was counted until now was none of ours.
  void forget();
  /// A process was killed: true if the kernel has killed one since, for which none was found yet.
  bool explain_one();

 private:
  std::uint64_t count() const;

  const std::string counters_;
  std::uint64_t explained_ = 0;
};

}  // namespace stretto::launch
