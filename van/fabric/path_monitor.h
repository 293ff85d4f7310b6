// SPDX-License-Identifier: Apache-2.0
// PathMonitor: detects dead paths to peers, and providers that lose frames. It uses the real clock:
// peers are also silent while no thread polls here.
#pragma once

#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "van/fabric/bootstrap.h"
#include "van/fabric/fabric_links.h"

namespace stretto::fabric {

/// Thread: loop.
class PathMonitor {
 public:
  void set_dead_after(Duration limit) { dead_after_ = limit; }
  /// Periodically asks peers, and ends links whose frames are lost; `now` is the transport's time.
  /// Dead paths become events.
  void look(FabricLinks& links, Bootstrap& exchange, Time now, std::vector<ConnectionEvent>& news);

 private:
  Duration dead_after_ = JobSettings().dead_after;
  SteadyClock clock_;
  Time next_;
};

}  // namespace stretto::fabric
