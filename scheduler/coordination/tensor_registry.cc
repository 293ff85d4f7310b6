// SPDX-License-Identifier: Apache-2.0
// The first declaration counts; later ones are compared with it.
#include "scheduler/coordination/tensor_registry.h"

#include <fmt/core.h>

#include <algorithm>

namespace stretto {

Result<TensorRegistry::Declaration> TensorRegistry::declare(const TensorSpec& spec, Rank rank,
                                                            const Place& place,
                                                            std::uint32_t part_bytes) {
  auto found = by_name_.find(spec.name);
  if (found == by_name_.end()) {
    if (Status status = budget_.take(spec); !status.ok()) return status;
    Entry& made = entries_.emplace_back();
    made.id = static_cast<std::uint32_t>(entries_.size());
    made.spec = spec;
    made.first_slot = place(Cut(spec, part_bytes));
    made.first = rank;
    found = by_name_.emplace(made.spec.name, &made).first;
  }
  Entry& entry = *found->second;
  const bool breaks = !(entry.spec == spec) && entry.broken.ok();
  const bool known = !entry.others_unknown || rank == entry.first;
  const bool again = known && rank < entry.declared.size() && entry.declared[rank];
  if (breaks) {
    const std::string before = entry.spec.describe();
    entry.broken = {
        Code::kMismatch,
        again ? fmt::format("tensor '{}': worker {} declared {} before, and {} now; another tensor "
                            "needs another name",
                            spec.name, rank, before, spec.describe())
              : fmt::format("tensor '{}': worker {} declared {}, worker {} declared {}", spec.name,
                            entry.first, before, rank, spec.describe())};
  }
  if (entry.declared.size() <= rank) entry.declared.resize(rank + 1);
  entry.declared[rank] = true;
  return Declaration{entry, breaks};
}

// Assumes that all workers have declared each tensor, so that all of them are notified.
void TensorRegistry::forget_declarers(Rank workers) {
  for (Entry& entry : entries_) {
    entry.declared.assign(workers, true);
    entry.others_unknown = true;
  }
}

std::vector<std::pair<std::uint32_t, std::string>> TensorRegistry::names(std::uint32_t first,
                                                                         std::size_t most) const {
  std::vector<std::pair<std::uint32_t, std::string>> found;
  for (std::size_t i = std::max(first, 1U) - 1; i < entries_.size() && found.size() < most; ++i) {
    found.emplace_back(entries_[i].id, entries_[i].spec.name);
  }
  return found;
}

std::vector<TensorSpec> TensorRegistry::specs() const {
  std::vector<TensorSpec> specs;
  for (const Entry& entry : entries_) specs.push_back(entry.spec);
  return specs;
}

}  // namespace stretto
