// SPDX-License-Identifier: Apache-2.0
// SpinPoller: polls a transport, and spins briefly before the poll sleeps, while spinning has paid
// off recently (SpinPredictor) and processors are spare (SpinBudget).
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
  kNothing,  ///< Nothing worth spinning for.
  kCalls,    ///< Requests of peers, at any time.
  kAnswers   ///< Responses of peers to our requests.
};

/// Whether this machine has processors to spare for spinning: this process may use at least two,
/// and no thread waits for a processor.
std::function<bool()> spare_processors();

/// Thread: loop.
class SpinPoller {
 public:
  /// Spins for at most `bound`; zero: never. The waker is the transport's; the waker and the clock
  /// must outlive this.
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
