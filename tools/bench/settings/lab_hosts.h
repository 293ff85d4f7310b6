// SPDX-License-Identifier: Apache-2.0
// The placement of processes on lab hosts. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/bench/settings/settings.h"

namespace stretto::bench {

struct LabHost {
  std::uint64_t rate_mbit = 0;  ///< Of its link, in each direction.
  std::uint32_t workers = 0;
  std::uint32_t servers = 0;
};

/// Workers are placed on hosts in runs of about equal length; servers round robin. Without
/// `lab_hosts` each process has its own host, workers first.
inline std::uint32_t host_of_worker(const Settings& settings, std::uint32_t worker) {
  if (settings.lab_hosts == 0) return worker;
  return static_cast<std::uint32_t>(std::uint64_t{worker} * settings.lab_hosts / settings.workers);
}
inline std::uint32_t host_of_server(const Settings& settings, std::uint32_t server) {
  return settings.lab_hosts == 0 ? settings.workers + server : server % settings.lab_hosts;
}

inline std::vector<LabHost> lab_hosts(const Settings& settings) {
  std::vector<LabHost> hosts(settings.lab_hosts == 0 ? settings.workers + settings.servers
                                                     : settings.lab_hosts);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::vector<std::uint64_t>& rates = settings.lab_mbit;
    hosts[i].rate_mbit = i < rates.size() ? rates[i] : rates.back();
  }
  for (std::uint32_t i = 0; i < settings.workers; ++i) ++hosts[host_of_worker(settings, i)].workers;
  for (std::uint32_t i = 0; i < settings.servers; ++i) ++hosts[host_of_server(settings, i)].servers;
  return hosts;
}

}  // namespace stretto::bench
