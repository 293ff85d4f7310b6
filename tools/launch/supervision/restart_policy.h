// SPDX-License-Identifier: Apache-2.0
// Whether a job that has ended begins again, from its last checkpoint. Pure: what came of one
// attempt goes in, the plan of the next one comes out. Not again begins what was asked to end, what
// did not come together when it first began, and what ended by an error of its program before it
// had saved anything new: it would fail again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/launch_protocol/status_lines.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/supervision/root_cause.h"

namespace stretto::launch {

/// What came of one attempt.
struct AttemptOutcome {
  Verdict verdict;
  bool first = true;                     ///< The job has not begun before.
  bool gathered = false;                 ///< All members came together.
  bool interrupted = false;              ///< Somebody asked for the end.
  bool by_program = false;               ///< A worker's program ended it, by itself.
  std::uint32_t replaced = 0;            ///< Workers that were started for others.
  std::optional<SavedCheckpoint> saved;  ///< The newest one in its folder; none: none is known.
  /// It made that one itself.
  bool has_made() const { return saved && saved->is_made; }
  Duration ran{};
  std::vector<std::string> lost_hosts;  ///< By the names that the plan has.
};

struct Next {
  std::optional<Plan> plan;        ///< Of the next attempt; none: the job is over.
  std::vector<std::string> notes;  ///< What the user should read of it, a line each.
};

/// `plan`: of the attempt that has ended so.
Next next_after(const Plan& plan, const AttemptOutcome& outcome);

}  // namespace stretto::launch
