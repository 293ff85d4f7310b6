// SPDX-License-Identifier: Apache-2.0
// ProgressTable: how far each worker is, as its heartbeats tell: for metrics, and for a word about
// who falls behind. Pure: it holds numbers and makes texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class ProgressTable {
 public:
  /// A worker has pushed `rounds` rounds of the tensor of which it has pushed most; between the
  /// last two values that came to it others had made `staleness` updates. Of one that joined the
  /// others had made `missed` rounds before, which it is not behind by.
  void heard(Rank rank, std::uint64_t rounds, std::uint64_t staleness, Time now,
             std::uint64_t missed = 0);
  void left(Rank rank);

  /// The numbers in Prometheus's text format, by rank.
  std::string metrics(Time now) const;
  /// Once every 10 s: who has done less than half as many rounds in them as the middle one of the
  /// workers; empty if there is nobody, or if that is less than 10 rounds. Only in modes without
  /// rounds can that be: in the others everybody is as slow as the slowest.
  std::string laggards(Time now);

 private:
  struct Worker {
    std::uint64_t rounds = 0;
    std::uint64_t missed = 0;
    std::uint64_t staleness = 0;
    Time heard;
    std::uint64_t rounds_before = 0;  // At the begin of the window.
    bool was_there = false;           // Then.
  };

  std::map<Rank, Worker> workers_;
  Time window_ends_ = {};
};

}  // namespace stretto
