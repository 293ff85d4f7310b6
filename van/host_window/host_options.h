// SPDX-License-Identifier: Apache-2.0
// HostOptions: among whose endpoints a host's window is divided, and how.
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

/// Those of a process of a job. Asks which interface leads to the scheduler, by its name if need
/// be: that may take long.
HostOptions host_options(const Config& config);

}  // namespace stretto::host
