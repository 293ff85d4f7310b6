// SPDX-License-Identifier: Apache-2.0
// PathMonitor: whether the paths to far ends are dead, and whether the provider does what it was
// given. Far ends are silent also while nobody polls here, so it goes by the real clock.
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
  /// Now and then asks far ends, and ends links whose frames are lost; `now` is the transport's
  /// time. Dead paths become news.
  void look(FabricLinks& links, Bootstrap& exchange, Time now, std::vector<ConnectionEvent>& news);

 private:
  Duration dead_after_ = JobSettings().dead_after;
  SteadyClock clock_;
  Time next_;
};

}  // namespace stretto::fabric
