// SPDX-License-Identifier: Apache-2.0
// SpinPoller: polls a transport, and looks again for a moment before the poll sleeps, as long as
// that has paid lately (SpinPredictor) and processors are to spare (SpinBudget).
#pragma once

#include <functional>

#include "common/clock.h"
#include "van/event_loop/spin_budget.h"
#include "van/event_loop/spin_predictor.h"
#include "van/transport/transport.h"
#include "van/transport/waker.h"

namespace stretto {

/// What a loop waits for.
enum class WaitReason : std::uint8_t {
  kNothing,  ///< Nothing that is worth looking for.
  kCalls,    ///< What far ends do when they like.
  kAnswers   ///< What they do because we asked.
};

/// Whether this machine has processors to spare, for who would look: two at least that this process
/// may use, and nobody who waits for one.
std::function<bool()> spare_processors();

/// Thread: loop.
class SpinPoller {
 public:
  /// Looks for at most `bound`; zero: never. The waker is the transport's; it and the clock outlive
  /// this.
  SpinPoller(Duration bound, const Clock& clock, Waker& waker,
             std::function<bool()> spare = spare_processors());

  /// Transport::poll.
  void poll(Transport& transport, Transport::Sink& sink, Duration wait, WaitReason awaits);

 private:
  bool may_look(Time now);
  bool look(Transport& transport, Duration limit, SpinPredictor& ahead);

  const Duration bound_;
  const Clock& clock_;
  Waker& waker_;
  const std::function<bool()> ask_;
  SpinBudget spare_;
  SpinPredictor calls_;
  SpinPredictor answers_;
};

}  // namespace stretto
