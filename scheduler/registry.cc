// SPDX-License-Identifier: Apache-2.0
// First come, all compared.
#include "scheduler/registry.h"

#include <fmt/format.h>

namespace stretto {

Registry::Entry& Registry::declare(const TensorSpec& spec, NodeId node, const std::string& who,
                                   SlotTable& slots, std::uint32_t part_bytes) {
  auto [found, is_new] = entries_.try_emplace(spec.name);
  Entry& entry = found->second;
  if (is_new) {
    entry.id = next_id_++;
    by_id_[entry.id] = spec.name;
    entry.spec = spec;
    entry.placement = slots.place(Cut(spec, part_bytes));
  } else if (!(entry.spec == spec) && entry.broken.ok()) {
    const std::string before = entry.spec.describe();
    entry.broken = {
        Code::kMismatch,
        entry.declarers.contains(node)
            ? fmt::format("tensor '{}': {} declared {} before, and {} now; another tensor needs "
                          "another name",
                          spec.name, who, before, spec.describe())
            : fmt::format("tensor '{}': {} declared {}, {} declared {}", spec.name,
                          entry.declarers.begin()->second, before, who, spec.describe())};
  }
  entry.declarers.emplace(node, who);
  return entry;
}

std::vector<std::pair<std::uint32_t, std::string>> Registry::names(std::uint32_t first,
                                                                   std::size_t most) const {
  std::vector<std::pair<std::uint32_t, std::string>> found;
  for (auto it = by_id_.lower_bound(first); it != by_id_.end() && found.size() < most; ++it) {
    found.emplace_back(*it);
  }
  return found;
}

}  // namespace stretto
