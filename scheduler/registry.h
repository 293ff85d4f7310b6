// SPDX-License-Identifier: Apache-2.0
// Registry: the tensors of a job, by name. Workers may declare in any order; what they say of one
// name must agree. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/slot_table.h"
#include "van/messages.h"

namespace stretto {

/// Thread: loop.
class Registry {
 public:
  struct Entry {
    std::uint32_t id = 0;
    TensorSpec spec;
    SlotTable::Placement placement;
    std::map<NodeId, std::string> declarers;  // And how each is called.
    Status broken;                            // Set once two workers disagreed.
  };

  /// The entry of `spec.name`, made if it is new. If `spec` disagrees with what others declared,
  /// the entry is broken from then on, for all: the error says who wanted what.
  Entry& declare(const TensorSpec& spec, NodeId node, const std::string& who, SlotTable& slots,
                 std::uint32_t part_bytes);
  std::size_t size() const { return entries_.size(); }
  /// At most `most` identities and names, from identity `first` on.
  std::vector<std::pair<std::uint32_t, std::string>> names(std::uint32_t first,
                                                           std::size_t most) const;

 private:
  std::map<std::string, Entry> entries_;
  std::map<std::uint32_t, std::string> by_id_;
  std::uint32_t next_id_ = 1;
};

}  // namespace stretto
