// SPDX-License-Identifier: Apache-2.0
// Waits in slices, so that an interruption is noticed.
#include "worker/training/step_waits.h"

namespace stretto {

// A step waits for hundreds of tensors, and a check takes Python's lock: one every kBetween is
// enough for all of them.
Status StepWaits::wait(const Ticket& ticket) {
  if (!Interruptible::is_set()) return ticket.wait();
  while (!ticket.done()) {
    if (!looks_.goes_on()) {
      were_interrupted_ = true;
      return Status(Code::kCancelled,
                    "an exception from the handler of a signal interrupted a step, and the values "
                    "are not complete; end this process")
          .with_operation("step");
    }
    Status status = ticket.wait_for(Interruptible::kBetween);
    if (status.code() != Code::kTimeout && !ticket.done()) return status;
  }
  return ticket.wait();
}

}  // namespace stretto
