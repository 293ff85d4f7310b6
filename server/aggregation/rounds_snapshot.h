// SPDX-License-Identifier: Apache-2.0
// RoundsSnapshot: the progress of a part's rounds, without open ones. From it another server
// continues the rounds exactly as this one would have.
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
    std::uint64_t before = 0;  ///< including these before it joined.
    Rank number = 0;           ///< Contributor::rank.
  };

  static RoundsSnapshot of(const Consistency& rounds);
  /// The contributors; null if the snapshot is inconsistent.
  ContributorGroup group() const;
  /// Restores the snapshot into rounds of which none is open. False, and without effect, if it is
  /// inconsistent, or for other contributors.
  bool give(Consistency& rounds) const;
  /// No round has been made.
  bool is_new() const { return version == 0 && finished == 0; }

  std::uint64_t version = 0;
  std::uint64_t finished = 0;  ///< Collected rounds,
  std::uint64_t empty = 0;     ///< and those of them that made no update:
  bool made_nothing = false;   ///< the last one made none.
  std::vector<Worker> workers = {};
};

}  // namespace stretto
