// SPDX-License-Identifier: Apache-2.0
// Verdict: the root cause of a job's end. Pure: evidence in, verdict out.
//
// Survivors' statements come first, as they show more than exits: a stopped process has none, and
// an exit with 0 in mid-run looks fine. Each line that names a lost member is a vote for it; if
// that member names another, it only followed, and the vote moves on. Most votes decide, then the
// scheduler's. Without statements the order of ends decides: a process's connections close just
// before its exit is visible. Within half a second of the first failure an end by a signal is the
// cause, then a worker's, a server's, the scheduler's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// Maximum delay of the causing end behind ends that followed from it.
inline constexpr Duration kHindsight = std::chrono::milliseconds(500);

struct Verdict {
  int exit_status = 0;
  Status error;                  ///< Ok, or the last line's statement about `who`.
  std::optional<JobMember> who;  ///< None: no member is the cause, but for instance a connection.
  bool ended = false;            ///< `error` describes the exit of `who`; else its loss.

  /// "worker 2 exited with status 3", "server 0 is lost: nothing heard of it for 5 s, say ...".
  std::string sentence() const;
  /// The launcher's last line; `error` is not ok.
  std::string error_line() const;
};

/// The root cause of the job's failure, derived from the exit records. Ok if all workers succeeded
/// and no other failure counts.
Verdict judge(const JobEvidence& evidence);
/// The root cause of the first failure, even if the job did not fail by it.
Verdict cause_of(const JobEvidence& evidence);

/// A worker's program ended: not by a signal, and not because another member was lost to it.
bool ended_by_itself(const MemberRecord& witness);

/// Running members that were not asked to end, and that the relevant peers have given up: the
/// scheduler, or all others for the scheduler. They cannot be asked to end.
std::vector<std::size_t> given_up(const JobEvidence& evidence);

/// True if its end can be a reaction to the notice `signal`, which was sent to all.
bool explained_by(const MemberRecord& witness, int signal);

}  // namespace stretto::launch
