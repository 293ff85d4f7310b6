// SPDX-License-Identifier: Apache-2.0
// Awaited: what a thread may wait for, whoever brings it about.
#pragma once

#include "common/threads/parker.h"
#include "stretto/types.h"

namespace stretto {

/// Thread: any.
class Awaited {
 public:
  virtual ~Awaited() = default;
  /// Once true it stays so.
  virtual bool done() = 0;
  /// It is unparked at the end, until unwatch(). False if that has come: then it is not.
  virtual bool watch(Parker& parker) = 0;
  virtual void unwatch(Parker& parker) = 0;
};

/// Sleeps until it is done, or the deadline has come.
inline void park_until_done(Awaited& awaited, Time deadline) {
  Parker parker;
  if (!awaited.watch(parker)) return;
  while (!awaited.done() && std::chrono::steady_clock::now() < deadline) {
    parker.park_until(deadline);
  }
  awaited.unwatch(parker);
}

}  // namespace stretto
