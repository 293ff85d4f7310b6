// SPDX-License-Identifier: Apache-2.0
// TensorRegistry: the tensors of a job, by name. Workers may declare in any order; declarations of
// a name must agree. Its memory is bounded, as workers may declare without limit. Pure.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cut.h"
#include "core/tensor_spec.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop.
class TensorRegistry {
 public:
  struct Entry {
    std::uint32_t id = 0;
    TensorSpec spec;
    std::uint32_t first_slot = 0;
    Rank first = 0;                   // The first declarer,
    std::vector<bool> declared = {};  // and all declarers by rank.
    Status broken = {};               // Set once two workers disagreed.
    bool others_unknown = false;      // Only the first declarer is known.
  };
  struct Declaration {
    const Entry& entry;
    bool breaks = false;  ///< This declaration disagrees: all declarers must be told.
  };

  /// Assigns slots to a new tensor, and returns the first.
  using Place = std::function<std::uint32_t(const Cut&)>;

  /// The entry of `spec.name`, created if it is new. If `spec` disagrees with earlier declarations,
  /// the entry is broken from then on, for all: the error names both. kResource, without effect, if
  /// there is no room for another name.
  Result<Declaration> declare(const TensorSpec& spec, Rank rank, const Place& place,
                              std::uint32_t part_bytes);
  /// Forgets the declarers, except the first of each tensor.
  void forget_declarers(Rank workers);
  std::size_t size() const { return entries_.size(); }
  /// Of all tensors.
  std::vector<TensorSpec> specs() const;
  /// At most `most` ids and names, from id `first` on.
  std::vector<std::pair<std::uint32_t, std::string>> names(std::uint32_t first,
                                                           std::size_t most) const;

 private:
  std::deque<Entry> entries_;                   // By id, from 1.
  std::map<std::string_view, Entry*> by_name_;  // The entries own the names.
  DescriptionBudget budget_;
};

}  // namespace stretto
