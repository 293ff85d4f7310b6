// SPDX-License-Identifier: Apache-2.0
// TensorRegistry: the tensors of a job, by name. Workers may declare in any order; what they say of
// one name must agree. Its memory is bounded: whoever may declare may declare without end. Pure.
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
    Rank first = 0;                   // Who declared it first,
    std::vector<bool> declared = {};  // and by rank who has.
    Status broken = {};               // Set once two workers disagreed.
    bool others_unknown = false;      // Of others than the first nobody knows.
  };
  struct Declaration {
    const Entry& entry;
    bool breaks = false;  ///< It is this one that disagrees: all who declared must hear of it.
  };

  /// Gives slots to a new tensor, and returns the first.
  using Place = std::function<std::uint32_t(const Cut&)>;

  /// The entry of `spec.name`, made if it is new. If `spec` disagrees with what others declared,
  /// the entry is broken from then on, for all: the error says who wanted what. kResource, and
  /// nothing has changed, if there is no room for another name.
  Result<Declaration> declare(const TensorSpec& spec, Rank rank, const Place& place,
                              std::uint32_t part_bytes);
  /// Who has declared what, but for those who were the first, is not known.
  void forget_declarers(Rank workers);
  std::size_t size() const { return entries_.size(); }
  /// Of all tensors.
  std::vector<TensorSpec> specs() const;
  /// At most `most` identities and names, from identity `first` on.
  std::vector<std::pair<std::uint32_t, std::string>> names(std::uint32_t first,
                                                           std::size_t most) const;

 private:
  std::deque<Entry> entries_;                   // By identity, from 1.
  std::map<std::string_view, Entry*> by_name_;  // Names are the entries' own.
  DescriptionBudget budget_;
};

}  // namespace stretto
