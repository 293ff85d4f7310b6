// SPDX-License-Identifier: Apache-2.0
// Slurm signals all steps within some milliseconds; a loaded machine takes longer.
#include "tools/launch/process/slurm_signals.h"

#include <signal.h>

namespace stretto::launch {
namespace {

// Delay of an order, in which Slurm's own signal may arrive. A shorter --grace sends SIGKILL first.
constexpr Duration kKeep = 500ms;
constexpr Duration kSame = 10s;  // An order this soon after Slurm's signal repeats it.

}  // namespace

void SlurmSignalFilter::came(int signal, Time now) {
  came_[signal] = now;
  std::erase_if(kept_, [signal](const Kept& kept) { return kept.order.signal == signal; });
}

bool SlurmSignalFilter::may_go(const SignalOrder& order, Time now) {
  if (order.signal == SIGKILL) return true;
  const auto found = came_.find(order.signal);
  if (found == came_.end() || now - found->second > kSame) kept_.push_back({order, now + kKeep});
  return false;
}

std::optional<Time> SlurmSignalFilter::due() const {
  if (kept_.empty()) return std::nullopt;
  return kept_.front().due;
}

std::vector<SignalOrder> SlurmSignalFilter::take_due(Time now) {
  std::vector<SignalOrder> orders;
  std::erase_if(kept_, [&](const Kept& kept) {
    if (kept.due > now) return false;
    orders.push_back(kept.order);
    return true;
  });
  return orders;
}

}  // namespace stretto::launch
