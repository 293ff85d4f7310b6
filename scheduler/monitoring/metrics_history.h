// SPDX-License-Identifier: Apache-2.0
// History: the job's last minutes as samples at equal intervals, for the live page's curves: the
// time of a step, pushed bytes, staleness, and program metrics. Memory is bounded by kMostSamples
// and kMostNames. Pure: it reads snapshots.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/monitoring/job_snapshot.h"

namespace stretto {

/// Thread: loop.
class History {
 public:
  static constexpr Duration kEvery = 2s;
  static constexpr std::size_t kMostSamples = 300;  ///< Ten minutes.
  static constexpr std::size_t kMostNames = 12;     ///< Of program metrics, the first reported.

  /// Call repeatedly; takes a sample when it is due.
  void look(const Snapshot& snapshot, Time now);
  /// {"every_s":2,"age_s":[...],"step_s":[...],"pushed":[...],"staleness":[...],
  /// "reports":{NAME:{"mean":[...],"low":[...],"high":[...]}}}, oldest first; null: not known.
  std::string json(Time now) const;

 private:
  struct Spread {
    double mean = 0;
    double low = 0;
    double high = 0;
  };
  struct Sample {
    Time at;
    std::optional<double> step_s;
    double pushed_per_s = 0;                     // Bytes, of all workers.
    std::uint64_t staleness = 0;                 // Of the stalest worker.
    std::vector<std::optional<Spread>> reports;  // In the order of `names_`.
  };

  std::optional<double> step_of(const std::vector<const Snapshot::NodeState*>& workers, Time now);
  std::vector<std::optional<Spread>> reports_of(
      const std::vector<const Snapshot::NodeState*>& workers);

  std::deque<Sample> samples_;
  std::vector<std::string> names_;
  std::uint64_t rounds_ = 0;      // Of the median worker, and
  Time since_ = {};               // since when;
  std::optional<double> step_s_;  // duration of the last complete round.
  Time next_ = {};
};

}  // namespace stretto
