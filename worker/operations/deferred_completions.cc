// SPDX-License-Identifier: Apache-2.0
// Ended operations, oldest first.
#include "worker/operations/deferred_completions.h"

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

constexpr Duration kLingerCheck = 5ms;
constexpr Duration kLingerLimit = 2s;

}  // namespace

void DeferredCompletions::add(std::shared_ptr<Operation> operation, const Status& why, Time now,
                              Time deadline) {
  // Data of a successful operation may be in flight to other workers until its deadline.
  const Time since = why.ok() ? std::max(now, deadline) : now;
  waiting_.push_back({{std::move(operation), why}, since});
  next_check_ = now + kLingerCheck;
}

std::vector<DeferredCompletions::Ended> DeferredCompletions::take_free(Time now) {
  next_check_ = now + kLingerCheck;
  std::vector<Ended> free;
  std::vector<Waiting> held;
  for (Waiting& one : waiting_) {
    if (one.ended.operation->leases.load() > 0) {
      held.push_back(std::move(one));
    } else {
      free.push_back(std::move(one.ended));
    }
  }
  waiting_ = std::move(held);
  return free;
}

bool DeferredCompletions::stuck(Time now) const {
  return std::ranges::any_of(waiting_,
                             [now](const Waiting& one) { return now - one.since > kLingerLimit; });
}

}  // namespace stretto
