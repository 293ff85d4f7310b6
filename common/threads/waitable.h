// SPDX-License-Identifier: Apache-2.0
// Awaited: an event that a thread may wait for.
#pragma once

#include "common/threads/parker.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: any.
class Awaited {
 public:
  virtual ~Awaited() = default;
  /// Once true, stays true.
  virtual bool done() = 0;
  /// Unparks `parker` when the event occurs, until unwatch(). False, without unpark, if done().
  virtual bool watch(Parker& parker) = 0;
  virtual void unwatch(Parker& parker) = 0;
};

/// Sleeps until the event is done, or the deadline has passed.
inline void park_until_done(Awaited& awaited, Time deadline) {
  Parker parker;
  if (!awaited.watch(parker)) return;
  while (!awaited.done() && std::chrono::steady_clock::now() < deadline) {
    parker.park_until(deadline);
  }
  awaited.unwatch(parker);
}

}  // namespace stretto
