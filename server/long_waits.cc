// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor are one wait: its longest.
#include "server/long_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "common/clock.h"
#include "common/text.h"

namespace stretto {

std::string list_of(const std::vector<Rank>& ranks) {
  const std::span<const Rank> first(ranks.data(), std::min<std::size_t>(ranks.size(), 8));
  return fmt::format("{}{}", fmt::join(first, ", "), ranks.size() > 8 ? ", ..." : "");
}

void LongWaits::add(const std::string& tensor, std::uint64_t round, Duration age,
                    const std::vector<Rank>& awaited) {
  if (age < kLong || awaited.empty()) return;
  Wait& wait = by_tensor_[tensor];
  if (age > wait.age) {
    wait.age = age;
    wait.round = round;
  }
  wait.awaited.insert(awaited.begin(), awaited.end());
}

std::vector<wire::LongWait> LongWaits::told() const {
  std::vector<const std::pair<const std::string, Wait>*> order;
  for (const auto& item : by_tensor_) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->second.age > b->second.age; });
  std::vector<wire::LongWait> told;
  for (const auto* item : order) {
    if (told.size() == kMostTensors) break;
    const Wait& wait = item->second;
    wire::LongWait& message = told.emplace_back();
    message.set_tensor(shortened(item->first, kMostNameBytes));
    message.set_round(wait.round);
    message.set_ns(count_of(wait.age));
    message.set_workers(static_cast<std::uint32_t>(wait.awaited.size()));
    for (const Rank rank : wait.awaited) {
      if (message.ranks_size() == kMostRanks) break;
      message.add_ranks(rank);
    }
  }
  if (!told.empty()) told.front().set_tensors(static_cast<std::uint32_t>(order.size()));
  return told;
}

}  // namespace stretto
