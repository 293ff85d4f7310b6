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
    entry.broken =
        Status(Code::kMismatch, fmt::format("tensor '{}': {} declared {}, {} declared {}",
                                            spec.name, entry.declarers.begin()->second,
                                            entry.spec.describe(), who, spec.describe()));
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
