// SPDX-License-Identifier: Apache-2.0
// SlotTable: places tensors in slots. A slot is a bucket of parts that is owned, and moves, as one.
// An empty slot goes to the shard with the least bytes when its first bytes come, so the servers
// are balanced by bytes and not by count. Who owns a slot is in the view's SlotMap alone. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cut.h"
#include "core/view.h"

namespace stretto {

/// Thread: loop.
class SlotTable {
 public:
  /// Shards of equal load: the first one takes first.
  SlotTable(std::uint32_t slots, const std::vector<NodeId>& shards);

  /// Gives consecutive slots to a tensor's parts, and returns the first: part p lies in slot
  /// (first + p) modulo the slots. Slots that hold bytes keep their owners. There is a shard.
  std::uint32_t place(SlotMap& map, const Cut& cut);
  /// The slot and its bytes are another shard's from now on.
  void move(SlotMap& map, std::uint32_t slot, NodeId to);

  void add(NodeId shard);
  /// The shard holds no bytes: its slots go to the others in turn.
  void remove(SlotMap& map, NodeId shard);

  /// What was one shard's is another's, which is new.
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
