// SPDX-License-Identifier: Apache-2.0
// LossDetector: who is lost to the job although nothing was seen to fail: a worker that ended well
// before it had joined while others wait for it, and whoever still runs but is given up by those
// who must know. Pure: evidence and the time go in.
#pragma once

#include <optional>
#include <vector>

#include "common/launch_protocol/status_lines.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// Thread: loop.
class LossDetector {
 public:
  explicit LossDetector(const Limits& limits) : patience_(limits.absence) {}

  /// How far the job has come together, by its scheduler.
  void on_gathering(JobFormation gathering, Time now);
  bool gathered() const { return gathered_; }

  /// Workers that have ended, will not come any more, and are waited for. A moment is left to news
  /// of others' coming, and to others to give up.
  std::vector<std::size_t> absent(const JobEvidence& evidence, Time now) const;
  /// Members that are lost to the others: neither can they hear that they should end, nor obey. A
  /// moment is left to those whose links have ended because they are about to end themselves.
  std::vector<std::size_t> abandoned(const JobEvidence& evidence, Time now);
  /// When absent() may find more,
  std::optional<Time> absence_deadline(const JobEvidence& evidence) const;
  /// and abandoned(), which was asked before.
  std::optional<Time> abandonment_deadline() const { return abandoned_at_; }

 private:
  std::optional<Time> absence_due(const MemberRecord& witness) const;

  const Duration patience_;
  bool gathered_ = false;
  std::optional<Time> awaited_since_;  // Workers have come, and wait for others.
  std::optional<Time> abandoned_at_;   // When those who are given up now count as abandoned.
};

}  // namespace stretto::launch
