// SPDX-License-Identifier: Apache-2.0
// The waits of a tensor's parts are reported as one: the longest.
#include "server/monitoring/stalled_rounds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "common/clock.h"
#include "common/text.h"

namespace stretto {

std::string list_of(const std::vector<Rank>& ranks) {
  const std::span<const Rank> first(ranks.data(), std::min<std::size_t>(ranks.size(), 8));
  return fmt::format("{}{}", fmt::join(first, ", "), ranks.size() > 8 ? ", ..." : "");
}

void StalledRounds::add(const std::string& tensor, std::uint64_t round, Duration age,
                        const std::vector<Rank>& awaited) {
  if (age < kLong || awaited.empty()) return;
  Wait& wait = by_tensor_[tensor];
  if (age > wait.age) {
    wait.age = age;
    wait.round = round;
  }
  wait.awaited.insert(awaited.begin(), awaited.end());
}

std::vector<control::LongWait> StalledRounds::told() const {
  std::vector<const std::pair<const std::string, Wait>*> order;
  for (const auto& item : by_tensor_) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.age > b->second.age; });
  std::vector<control::LongWait> told;
  for (const auto* item : order) {
    if (told.size() == control::Heartbeat::kMostLongWaits) break;
    const Wait& wait = item->second;
    control::LongWait& message = told.emplace_back();
    message.tensor = shortened(item->first, control::LongWait::kMaxNameBytes);
    message.round = wait.round;
    message.age = wait.age;
    message.workers = static_cast<std::uint32_t>(wait.awaited.size());
    for (const Rank rank : wait.awaited) {
      if (message.ranks.size() == control::LongWait::kMostRanks) break;
      message.ranks.push_back(rank);
    }
  }
  if (!told.empty()) told.front().tensors = static_cast<std::uint32_t>(order.size());
  return told;
}

}  // namespace stretto
