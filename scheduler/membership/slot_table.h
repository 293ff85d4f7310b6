// SPDX-License-Identifier: Apache-2.0
// SlotTable: assigns tensors to slots. A slot is a bucket of parts that is owned, and moves, as a
// unit. An empty slot goes to the least loaded shard when its first bytes come, so servers are
// balanced by bytes, not by count. The owner of a slot is only in the view's SlotMap. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cut.h"
#include "core/view.h"

namespace stretto {

/// Thread: loop.
class SlotTable {
 public:
  /// Shards of equal load: the first shard in the list takes first.
  SlotTable(std::uint32_t slots, const std::vector<NodeId>& shards);

  /// Gives consecutive slots to a tensor's parts, and returns the first: part p lies in slot (first
  /// + p) modulo the number of slots. Slots with bytes keep their owners. Requires a shard.
  std::uint32_t place(SlotMap& map, const Cut& cut);
  /// Moves the slot and its bytes to another shard.
  void move(SlotMap& map, std::uint32_t slot, NodeId to);

  void add(NodeId shard);
  /// Requires that the shard holds no bytes: its slots go to the other shards in turn.
  void remove(SlotMap& map, NodeId shard);

  /// Moves all slots of `shard` to the new shard `by`.
  void replace(SlotMap& map, NodeId shard, NodeId by);

  std::uint64_t load(NodeId shard) const;
  std::size_t shards() const { return shards_.size(); }

 private:
  struct Shard {
    NodeId node = 0;
    std::uint64_t bytes = 0;
  };
  Shard* find(NodeId node);
  void put(SlotMap& map, std::uint32_t slot, std::uint64_t bytes);

  std::vector<Shard> shards_;
  std::vector<std::uint64_t> bytes_;  // By slot.
  std::uint32_t next_slot_ = 0;
};

}  // namespace stretto
