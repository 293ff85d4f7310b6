// SPDX-License-Identifier: Apache-2.0
// Text of entry keys.
#include "checkpoint/entry.h"

#include <fmt/core.h>

namespace stretto::checkpoint {

std::string describe(const EntryKey& key) {
  const std::string stripe = key.part == 0 ? "" : fmt::format(", stripe {}", key.part);
  if (key.kind == Kind::kPart) return fmt::format("part {} of tensor '{}'", key.part, key.name);
  if (key.rank == kOfAll) return fmt::format("'{}'{} of all workers", key.name, stripe);
  return fmt::format("'{}'{} of worker {}", key.name, stripe, key.rank);
}

}  // namespace stretto::checkpoint
