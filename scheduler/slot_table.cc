// SPDX-License-Identifier: Apache-2.0
// Greedy placement by bytes.
#include "scheduler/slot_table.h"

#include <algorithm>

namespace stretto {

SlotTable::SlotTable(std::uint32_t slots, std::vector<NodeId> shards)
    : shards_(std::move(shards)), loads_(shards_.size()), owners_(slots), index_(slots) {}

std::size_t SlotTable::lightest() const {
  return static_cast<std::size_t>(std::min_element(loads_.begin(), loads_.end()) - loads_.begin());
}

std::uint32_t SlotTable::place(const Cut& cut) {
  const auto slots = static_cast<std::uint32_t>(owners_.size());
  const std::uint32_t first_slot = next_slot_;
  const std::uint32_t named = std::min(cut.parts(), slots);
  for (std::uint32_t part = 0; part < named; ++part) {
    const std::uint32_t slot = (first_slot + part) % slots;
    if (owners_[slot] == 0) {
      index_[slot] = static_cast<std::uint32_t>(lightest());
      owners_[slot] = shards_[index_[slot]];
    }
    loads_[index_[slot]] += cut.bytes_of_part(part);
  }
  for (std::uint32_t part = 0; cut.parts() > slots && part < slots; ++part) {
    const std::uint64_t more = (cut.parts() - 1 - part) / slots;  // Parts in the same slot.
    loads_[index_[(first_slot + part) % slots]] += more * cut.bytes_of_part(0);
  }
  if (cut.parts() > slots) {  // The last part may be shorter.
    const std::uint32_t last = cut.parts() - 1;
    loads_[index_[(first_slot + last) % slots]] -= cut.bytes_of_part(0) - cut.bytes_of_part(last);
  }
  next_slot_ = (next_slot_ + cut.parts()) % slots;
  return first_slot;
}

std::vector<wire::SlotRun> SlotTable::owners(std::uint32_t first_slot, std::uint32_t parts) const {
  const auto slots = static_cast<std::uint32_t>(owners_.size());
  std::vector<wire::SlotRun> runs;
  for (std::uint32_t part = 0; part < std::min(parts, slots); ++part) {
    const std::uint32_t slot = (first_slot + part) % slots;
    if (!runs.empty() && runs.back().node() == owners_[slot] &&
        runs.back().first() + runs.back().count() == slot) {
      runs.back().set_count(runs.back().count() + 1);
      continue;
    }
    wire::SlotRun run;
    run.set_first(slot);
    run.set_count(1);
    run.set_node(owners_[slot]);
    runs.push_back(run);
  }
  return runs;
}

std::uint64_t SlotTable::load(NodeId shard) const {
  auto found = std::find(shards_.begin(), shards_.end(), shard);
  return found == shards_.end() ? 0 : loads_[static_cast<std::size_t>(found - shards_.begin())];
}

}  // namespace stretto
