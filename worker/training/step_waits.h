// SPDX-License-Identifier: Apache-2.0
// StepWaits: the waits of steps for their operations.
#pragma once

#include "common/threads/interruptible.h"
#include "stretto/status.h"
#include "stretto/worker.h"

namespace stretto {

/// Thread: one at a time.
class StepWaits {
 public:
  /// As ticket.wait(). An Interruptible of this thread may end the wait early: kCancelled. Then the
  /// operation continues, and uses its memory.
  Status wait(const Ticket& ticket);
  /// True once a wait has ended early.
  bool were_interrupted() const { return were_interrupted_; }

 private:
  InterruptionLooks looks_;
  bool were_interrupted_ = false;
};

}  // namespace stretto
