// SPDX-License-Identifier: Apache-2.0
// HostOptions: which endpoints share a host's window, and how.
#pragma once

#include <cstdint>
#include <string>

#include "common/config/config.h"

namespace stretto::host {

/// Thread: any (a value).
struct HostOptions {
  HostPolicy policy = HostPolicy::kNone;
  std::uint64_t job = 0;  ///< HostEntry::job.
  std::string path;       ///< seats_path().
};

/// Options of a job's process. Looks up the interface to the scheduler, by host name if needed:
/// that may take long.
HostOptions host_options(const Config& config);

}  // namespace stretto::host
