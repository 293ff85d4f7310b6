// SPDX-License-Identifier: Apache-2.0
// OomDetector: whether a process that SIGKILL ended may have been killed for lack of memory. The
// kernel does not name its victims; it counts kills per host or per memory limit of a control
// group. A process that was killed just when that count grew is taken for a victim. Polling shows
// when the count grew. Each counted kill explains one exit, possibly a late one: a large process
// takes a while to end, and others end meanwhile because of its loss.
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

  /// Kills counted before do not concern this job.
  explicit OomDetector(std::string counters = kCounters);

  /// Called when a process starts, or ends otherwise: records new kills.
  void look(Time now);
  /// A process was killed: true if a recent kill of the kernel has no explained exit yet.
  bool explain_one(Time now);

 private:
  static constexpr std::size_t kMost = 4096;  // Kills without an explained exit.

  std::uint64_t count() const;

  const std::string counters_;
  std::uint64_t counted_ = 0;
  std::deque<Time> seen_;  // When each unexplained kill was noted.
};

}  // namespace stretto::launch
