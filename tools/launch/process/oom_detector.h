// SPDX-License-Identifier: Apache-2.0
// OomDetector: whether a process that died by SIGKILL may have died for lack of memory. The kernel
// tells nobody whom it chose, and counts how often it had to choose: on this host, or by the limit
// of a control group there. Who was killed just as that count grew is taken for one of those. When
// it grew is known by looking at it; each kill explains one end, of which several may come late: a
// large process takes a while to be gone, and others end meanwhile because of its loss.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "common/clock.h"

namespace stretto::launch {

/// Thread: loop.
class OomDetector {
 public:
  static constexpr const char* kCounters = "/proc/vmstat";
  static constexpr Duration kExplainsFor = 5s;

  /// What was counted until now was none of ours.
  explicit OomDetector(std::string counters = kCounters);

  /// Some process begins, or ends otherwise: notes what has been counted since the last look.
  void look(Time now);
  /// A process was killed: true if the kernel has killed one lately, for which none was found yet.
  bool explain_one(Time now);

 private:
  static constexpr std::size_t kMost = 4096;  // Kills that wait for whom they explain.

  std::uint64_t count() const;

  const std::string counters_;
  std::uint64_t counted_ = 0;
  std::deque<Time> seen_;  // Of each kill that explains nothing yet, when it was noted.
};

}  // namespace stretto::launch
