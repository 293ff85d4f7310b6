// SPDX-License-Identifier: Apache-2.0
// Greedy placement by bytes.
#include "scheduler/membership/slot_table.h"

#include <algorithm>

#include "common/check.h"

namespace stretto {

SlotTable::SlotTable(std::uint32_t slots, const std::vector<NodeId>& shards) : bytes_(slots) {
  for (const NodeId shard : shards) add(shard);
}

SlotTable::Shard* SlotTable::find(NodeId node) {
  const auto found =
      std::find_if(shards_.begin(), shards_.end(), [&](const Shard& s) { return s.node == node; });
  return found == shards_.end() ? nullptr : &*found;
}

// No frame addresses the owner of an empty slot, so the owner may change.
void SlotTable::put(SlotMap& map, std::uint32_t slot, std::uint64_t bytes) {
  if (bytes_[slot] == 0) {
    const auto lightest =
        std::min_element(shards_.begin(), shards_.end(),
                         [](const Shard& a, const Shard& b) { return a.bytes < b.bytes; });
    map.give(slot, lightest->node);
  }
  Shard* shard = find(map.owner(slot));
  STRETTO_CHECK(shard != nullptr);
  bytes_[slot] += bytes;
  shard->bytes += bytes;
}

std::uint32_t SlotTable::place(SlotMap& map, const Cut& cut) {
  STRETTO_CHECK(!shards_.empty() && map.size() == bytes_.size());
  const std::uint32_t slots = map.size();
  const std::uint32_t parts = cut.parts();
  const std::uint32_t first_slot = next_slot_;
  for (std::uint32_t part = 0; part < std::min(parts, slots); ++part) {
    put(map, (first_slot + part) % slots, cut.bytes_of_part(part));
  }
  for (std::uint32_t part = 0; parts > slots && part < slots; ++part) {
    const std::uint64_t more = (parts - 1 - part) / slots;  // Parts in the same slot.
    std::uint64_t bytes = more * cut.bytes_of_part(0);
    if (part == (parts - 1) % slots) {  // The last part may be shorter.
      bytes -= cut.bytes_of_part(0) - cut.bytes_of_part(parts - 1);
    }
    put(map, (first_slot + part) % slots, bytes);
  }
  next_slot_ = (next_slot_ + parts) % slots;
  return first_slot;
}

void SlotTable::move(SlotMap& map, std::uint32_t slot, NodeId to) {
  Shard* from = find(map.owner(slot));
  Shard* shard = find(to);
  STRETTO_CHECK(from != nullptr && shard != nullptr);
  from->bytes -= bytes_[slot];
  shard->bytes += bytes_[slot];
  map.give(slot, to);
}

void SlotTable::add(NodeId shard) { shards_.push_back({.node = shard}); }

void SlotTable::remove(SlotMap& map, NodeId shard) {
  STRETTO_CHECK(shards_.size() > 1 && load(shard) == 0);
  std::erase_if(shards_, [shard](const Shard& s) { return s.node == shard; });
  for (std::uint32_t slot = 0; slot < map.size(); ++slot) {
    if (map.owner(slot) == shard) map.give(slot, shards_[slot % shards_.size()].node);
  }
}

void SlotTable::replace(SlotMap& map, NodeId shard, NodeId by) {
  Shard* place = find(shard);
  STRETTO_CHECK(place != nullptr && find(by) == nullptr);
  place->node = by;
  for (std::uint32_t slot = 0; slot < map.size(); ++slot) {
    if (map.owner(slot) == shard) map.give(slot, by);
  }
}

std::uint64_t SlotTable::load(NodeId shard) const {
  const auto found =
      std::find_if(shards_.begin(), shards_.end(), [&](const Shard& s) { return s.node == shard; });
  return found == shards_.end() ? 0 : found->bytes;
}

}  // namespace stretto
