// SPDX-License-Identifier: Apache-2.0
// Indexed by call: mostly all workers wait in the same call, so a report costs the same for a
// thousand workers as for two.
#include "scheduler/monitoring/blocked_calls.h"

#include <fmt/core.h>

namespace stretto {
namespace {

constexpr int kMostCalls = 3;             // In the report to a worker.
constexpr std::size_t kMostBytes = 1100;  // Of a call: the longest name and its operation.

std::string in_words(const std::string& call, const std::set<Rank>& waiters) {
  const Rank first = *waiters.begin();
  if (waiters.size() == 1) return fmt::format("worker {} waits in {}", first, call);
  return fmt::format("worker {} and {} more wait in {}", first, waiters.size() - 1, call);
}

}  // namespace

void BlockedCalls::heard(Rank rank, const std::string& told) {
  const std::string call = told.substr(0, kMostBytes);
  const auto before = calls_.find(rank);
  if (before == calls_.end() ? call.empty() : before->second == call) return;
  if (before != calls_.end()) {
    const auto waiters = waiters_.find(before->second);
    waiters->second.erase(rank);
    if (waiters->second.empty()) waiters_.erase(waiters);
    calls_.erase(before);
  }
  if (call.empty()) return;
  calls_[rank] = call;
  waiters_[call].insert(rank);
}

std::string BlockedCalls::elsewhere(Rank rank) const {
  const auto own = calls_.find(rank);
  std::string words;
  if (own == calls_.end()) return words;
  int told = 0;
  for (const auto& [call, waiters] : waiters_) {
    if (call == own->second) continue;
    if (told++ == kMostCalls) break;
    words += (words.empty() ? "" : ", ") + in_words(call, waiters);
  }
  return words;
}

}  // namespace stretto
