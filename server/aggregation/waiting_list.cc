// SPDX-License-Identifier: Apache-2.0
// Remaining waiters move up, in one pass.
#include "server/aggregation/waiting_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stretto {

std::vector<Waiter> WaitingList::take_ready(const Consistency& rounds) {
  if (rounds.progress() != at_progress_) {
    at_progress_ = rounds.progress();
    looked_at_ = 0;
  }
  std::vector<Waiter> ready;
  const auto passes = [&](const Waiter& waiter) {
    const bool over = rounds.passes(waiter.gate, waiter.worker);
    if (over && ready.empty()) ready.reserve(waiters_.size());
    if (over) ready.push_back(waiter);
    return over;
  };
  const auto first = waiters_.begin() + static_cast<std::ptrdiff_t>(looked_at_);
  waiters_.erase(std::remove_if(first, waiters_.end(), passes), waiters_.end());
  looked_at_ = waiters_.size();
  return ready;
}

void WaitingList::drop(const std::set<NodeId>& workers) {
  std::erase_if(waiters_, [&](const Waiter& waiter) { return workers.contains(waiter.worker); });
  looked_at_ = 0;
}

std::vector<Waiter> WaitingList::take_assigning() {
  std::vector<Waiter> found;
  std::ranges::copy_if(waiters_, std::back_inserter(found), &Waiter::assigns);
  std::erase_if(waiters_, [](const Waiter& waiter) { return waiter.assigns; });
  looked_at_ = 0;
  return found;
}

std::vector<Waiter> WaitingList::take_all() {
  looked_at_ = 0;
  return std::exchange(waiters_, {});
}

std::size_t WaitingList::count_of(NodeId worker) const {
  const auto is_of = [worker](const Waiter& waiter) { return waiter.worker == worker; };
  return static_cast<std::size_t>(std::ranges::count_if(waiters_, is_of));
}

}  // namespace stretto
