// SPDX-License-Identifier: Apache-2.0
// SlotTable: which shard owns which slot. A slot is a bucket of parts that is owned, and later can
// move, as one. Owners are chosen when the first bytes come into a slot, the shard with the least
// bytes first, so the servers are balanced by bytes and not by count. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "van/messages.h"

namespace stretto {

/// Thread: loop.
class SlotTable {
 public:
  SlotTable(std::uint32_t slots, std::vector<NodeId> shards);

  /// Gives consecutive slots to a tensor's parts, and returns the first: part p lies in slot
  /// (first + p) modulo the slots.
  std::uint32_t place(const Cut& cut);
  /// The owners of so many slots, from the first one on, that have been given.
  std::vector<wire::SlotRun> owners(std::uint32_t first_slot, std::uint32_t parts) const;

  NodeId owner(std::uint32_t slot) const { return owners_[slot]; }
  std::uint64_t load(NodeId shard) const;

 private:
  std::size_t lightest() const;

  std::vector<NodeId> shards_;
  std::vector<std::uint64_t> loads_;  // Bytes, beside shards_.
  std::vector<NodeId> owners_;        // Beside the slots; 0 is nobody yet.
  std::vector<std::uint32_t> index_;  // Owner's place in shards_, beside the slots.
  std::uint32_t next_slot_ = 0;
};

}  // namespace stretto
