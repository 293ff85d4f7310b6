// SPDX-License-Identifier: Apache-2.0
// LossDetector: members that are lost without a visible failure: a worker that exited with 0 before
// it joined while others wait for it, and a running member that the relevant peers have given up.
// Pure: evidence and the time go in.
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

  /// Formation of the job, as its scheduler reports it.
  void on_gathering(JobFormation gathering, Time now);
  bool gathered() const { return gathered_; }

  /// Workers that have ended, cannot join any more, and are waited for. A short delay allows for
  /// news of other joins, and for other members to give up.
  std::vector<std::size_t> absent(const JobEvidence& evidence, Time now) const;
  /// Running members that are lost to the others: they can neither receive nor obey a request to
  /// end. A short delay allows for members whose connections closed because they are about to end.
  std::vector<std::size_t> abandoned(const JobEvidence& evidence, Time now);
  /// When absent() may find more,
  std::optional<Time> absence_deadline(const JobEvidence& evidence) const;
  /// and abandoned(), which was asked before.
  std::optional<Time> abandonment_deadline() const { return abandoned_at_; }

 private:
  std::optional<Time> absence_due(const MemberRecord& witness) const;

  const Duration patience_;
  bool gathered_ = false;
  std::optional<Time> awaited_since_;  // Workers have joined, and wait for others.
  std::optional<Time> abandoned_at_;   // When the members given up now count as abandoned.
};

}  // namespace stretto::launch
