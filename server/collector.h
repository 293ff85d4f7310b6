// SPDX-License-Identifier: Apache-2.0
// Collector: makes updates of a part's shares. Consistency says when a share counts and what is
// complete; the bytes of an open round are added up here. Knows no values and sends nothing.
#pragma once

#include <optional>
#include <vector>

#include "server/consistency.h"
#include "server/part_layout.h"
#include "server/share.h"

namespace stretto {

/// Thread: loop.
class Collector {
 public:
  explicit Collector(const PartLayout& layout, Allocate allocate = Buffer::allocate);

  /// What a share did.
  struct Counted {
    Consistency::Gate gate;        ///< What the answer to it waits for.
    std::optional<Update> update;  ///< What it completed: its round, or itself where shares apply
                                   ///< as they come.
  };
  /// Counts a share: summed or kept when this returns a value, refused and without effect
  /// otherwise. The first share's memory becomes the sum if it is ours alone; the others are added
  /// straight out of the transport's memory.
  Result<Counted> add(Share share);

  Consistency& rounds() { return rounds_; }
  const Consistency& rounds() const { return rounds_; }

 private:
  Status check(const Share& share) const;
  Status check_encoding(const Share& share) const;
  Status check_root(const Share& share) const;
  void collect(Share share);
  void add_in_rank_order();
  Buffer take_sum();
  void add_to_sum(Share share);
  void add_widened(const Buffer& share);
  Buffer decoded(const Buffer& encoded) const;

  PartLayout layout_;
  Allocate allocate_;
  Consistency rounds_;
  Buffer sum_;               // Of the open collected round; empty before its first bytes.
  std::vector<Share> held_;  // Deterministic: shares that came before their turn, by rank.
  Rank turn_ = 0;            // Deterministic: whose share is to be added next.
  Rank caller_ = 0;          // Of the open broadcast: whoever came first, and
  std::optional<std::uint64_t> root_;  // whom it named.
};

}  // namespace stretto
