// SPDX-License-Identifier: Apache-2.0
// RoundsSnapshot: how far the rounds of a part are, without what is open: with that rounds go on at
// another server as they would have here.
#pragma once

#include <cstdint>
#include <vector>

#include "server/aggregation/consistency.h"

namespace stretto {

/// Thread: any.
class RoundsSnapshot final {
 public:
  struct Worker {
    NodeId node = 0;
    std::uint64_t rounds = 0;  ///< That have counted,
    std::uint64_t before = 0;  ///< with so many before it came.
    Rank number = 0;           ///< Contributor::rank.
  };

  static RoundsSnapshot of(const Consistency& rounds);
  /// Those who make them; null if it contradicts itself.
  ContributorGroup group() const;
  /// The same for rounds of which none is open. False, and without effect, if it contradicts
  /// itself, or other workers make them.
  bool give(Consistency& rounds) const;
  /// As they are at first.
  bool is_new() const { return version == 0 && finished == 0; }

  std::uint64_t version = 0;
  std::uint64_t finished = 0;  ///< Collected rounds,
  std::uint64_t empty = 0;     ///< and those of them that made no update:
  bool made_nothing = false;   ///< the last one is such.
  std::vector<Worker> workers = {};
};

}  // namespace stretto
