// SPDX-License-Identifier: Apache-2.0
// Processors: how many of them this process may use, and how many threads currently compete for
// them. A thread must know both before it spins.
#pragma once

#include <optional>
#include <string_view>

#include "common/descriptor.h"

namespace stretto {

/// Running and runnable threads of the host, from /proc/loadavg; none if malformed.
std::optional<int> runnable_in(std::string_view loadavg);
/// Processors within a cgroup's quota, from its cpu.max; none without a quota.
std::optional<double> quota_in(std::string_view cpu_max);
/// As above, for cgroups version 1: cpu.cfs_quota_us and cpu.cfs_period_us.
std::optional<double> quota_in(std::string_view quota_us, std::string_view period_us);

/// Thread: its owner's, one at a time.
class Processors {
 public:
  Processors();

  /// Processors for the calling thread, within the quotas of this process's cgroup and its
  /// ancestors. Quotas and the host's total are read once.
  double usable() const;
  /// No thread of the host has to wait for a processor, as far as known. Takes some microseconds.
  bool suffice() const;

 private:
  Descriptor loadavg_;
  int online_;
  std::optional<double> quota_;
};

}  // namespace stretto
