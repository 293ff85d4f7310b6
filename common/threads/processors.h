// SPDX-License-Identifier: Apache-2.0
// Processors: how many of them this process may use, and how many threads want one just now. Who
// spends time on a processor without work must know both.
#pragma once

#include <optional>
#include <string_view>

#include "common/descriptor.h"

namespace stretto {

/// Threads of the host that run or are ready to, from /proc/loadavg; none if it says something
/// else.
std::optional<int> runnable_in(std::string_view loadavg);
/// Processors that a cgroup's quota leaves, from its cpu.max; none if it leaves them all.
std::optional<double> quota_in(std::string_view cpu_max);
/// The same of version 1: cpu.cfs_quota_us and cpu.cfs_period_us.
std::optional<double> quota_in(std::string_view quota_us, std::string_view period_us);

/// Thread: its owner's, one at a time.
class Processors {
 public:
  Processors();

  /// That the calling thread may run on, and that the quotas of this process's cgroup and those
  /// above it leave. Quotas, and what the host has, are read once.
  double usable() const;
  /// No thread of the host waits for a processor, as far as can be told. Some microseconds.
  bool suffice() const;

 private:
  Descriptor loadavg_;
  int online_;
  std::optional<double> quota_;
};

}  // namespace stretto
