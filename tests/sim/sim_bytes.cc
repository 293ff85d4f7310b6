// SPDX-License-Identifier: Apache-2.0
// The content of a file after a power cut, as in "All File Systems Are Not Created Equal" (Pillai
// et al., OSDI 2014): whole sectors, in any order, and the size apart from the bytes.
#include "tests/sim/sim_bytes.h"

#include <algorithm>

namespace stretto::sim {

void SimBytes::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (offset > seen_.size()) {  // A gap reads as zero.
    const std::vector<std::byte> gap(offset - seen_.size());
    write(seen_.size(), gap);
  }
  seen_.resize(std::max<std::size_t>(seen_.size(), offset + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), seen_.begin() + static_cast<std::ptrdiff_t>(offset));
  unsynced_.push_back({.offset = offset, .bytes = {bytes.begin(), bytes.end()}});
}

void SimBytes::sync() {
  for (const Write& write : unsynced_) {  // Not from seen_: a failed sync may have lost writes.
    stored_.resize(std::max<std::size_t>(stored_.size(), write.offset + write.bytes.size()));
    std::copy(write.bytes.begin(), write.bytes.end(),
              stored_.begin() + static_cast<std::ptrdiff_t>(write.offset));
  }
  unsynced_.clear();
}

void SimBytes::lose(Luck& luck, std::uint64_t sector_bytes) {
  const std::uint64_t old_size = stored_.size();
  stored_.resize(size_kept(luck, sector_bytes));
  const bool garbage = luck.random().chance(0.5);
  for (std::uint64_t i = old_size; garbage && i < stored_.size(); ++i) {
    stored_[i] = static_cast<std::byte>(luck.random().below(256));
  }
  for (std::uint64_t first = 0; first < stored_.size(); first += sector_bytes) {
    keep_sector(luck, first, std::min<std::uint64_t>(first + sector_bytes, stored_.size()));
  }
  unsynced_.clear();
}

std::uint64_t SimBytes::size_kept(Luck& luck, std::uint64_t sector_bytes) const {
  const std::uint64_t grown = seen_.size() - std::min(seen_.size(), stored_.size());
  if (grown == 0 || !luck.has()) return stored_.size();
  const std::uint64_t sectors = luck.random().below(grown / sector_bytes + 2);
  return stored_.size() + std::min(grown, sectors * sector_bytes);
}

// Keeps the first few of the writes that touch [first, last), and drops the others.
void SimBytes::keep_sector(Luck& luck, std::uint64_t first, std::uint64_t last) {
  for (const Write& write : unsynced_) {
    const std::uint64_t begin = std::max(first, write.offset);
    const std::uint64_t end = std::min(last, write.offset + write.bytes.size());
    if (begin >= end) continue;
    if (!luck.has()) return;
    std::copy_n(write.bytes.begin() + static_cast<std::ptrdiff_t>(begin - write.offset),
                end - begin, stored_.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

}  // namespace stretto::sim
