// SPDX-License-Identifier: Apache-2.0
// ProgressTable: each worker's progress by its heartbeats, for metrics and for warnings about
// stragglers. Pure: it holds numbers and makes texts.
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
  /// A worker has pushed `rounds` rounds of its most pushed tensor. Other workers made `staleness`
  /// updates between the last two values it received. `missed`: rounds of other workers before this
  /// one joined, which do not count as lag.
  void heard(Rank rank, std::uint64_t rounds, std::uint64_t staleness, Time now,
             std::uint64_t missed = 0);
  void left(Rank rank);

  /// The numbers in Prometheus's text format, by rank.
  std::string metrics(Time now) const;
  /// Once every 10 s: the workers with less than half the rounds of the median worker in that time.
  /// Empty if there is none, or if the median is below 10 rounds. Only modes without rounds have
  /// such stragglers: in other modes all workers are as slow as the slowest.
  std::string laggards(Time now);

 private:
  struct Worker {
    std::uint64_t rounds = 0;
    std::uint64_t missed = 0;
    std::uint64_t staleness = 0;
    Time heard;
    std::uint64_t rounds_before = 0;  // At the start of the window.
    bool was_there = false;           // At that time.
  };

  std::map<Rank, Worker> workers_;
  Time window_ends_ = {};
};

}  // namespace stretto
