// SPDX-License-Identifier: Apache-2.0
// Whether an ended job restarts from its last checkpoint. Pure: the outcome of one attempt goes in,
// the plan of the next comes out. A job does not restart if it was asked to end, never was complete
// in its first attempt, or failed by a program error before a new checkpoint: it would fail again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/launch_protocol/status_lines.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/supervision/root_cause.h"

namespace stretto::launch {

/// The outcome of one attempt.
struct AttemptOutcome {
  Verdict verdict;
  bool first = true;                     ///< The first attempt of the job.
  bool gathered = false;                 ///< All members have joined.
  bool interrupted = false;              ///< A signal asked the job to end.
  bool by_program = false;               ///< A worker's program ended the job.
  std::uint32_t replaced = 0;            ///< Workers that were started as replacements.
  std::optional<SavedCheckpoint> saved;  ///< The newest one in its folder; none: unknown.
  /// This attempt made `saved`.
  bool has_made() const { return saved && saved->is_made; }
  Duration ran{};
  std::vector<std::string> lost_hosts;  ///< By their names in the plan.
};

struct Next {
  std::optional<Plan> plan;        ///< Of the next attempt; none: the job is over.
  std::vector<std::string> notes;  ///< Lines for the user.
};

/// `plan`: that of the ended attempt.
Next next_after(const Plan& plan, const AttemptOutcome& outcome);

}  // namespace stretto::launch
