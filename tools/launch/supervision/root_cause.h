// SPDX-License-Identifier: Apache-2.0
// Verdict: who ended a job, from the evidence alone. Pure: evidence in, verdict out.
//
// What the survivors say comes first, as they have seen more than ends: a stopped process has none,
// and one that exits with 0 in the middle looks well. Each line that names a lost member is a vote
// for it; where that member itself names another, it only followed, and the vote goes on to that
// one. Most votes decide, then the scheduler's. Without such words the order of ends decides: a
// process's links end a moment before its exit can be seen, so within half a second of the first
// failure one by a signal is the cause, then a worker's, a server's, the scheduler's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// How late the end that was the cause may be seen after ends that followed from it.
inline constexpr Duration kHindsight = std::chrono::milliseconds(500);

struct Verdict {
  int exit_status = 0;
  Status error;                  ///< Ok, or what the last line says about `who`.
  std::optional<JobMember> who;  ///< None: no member is to blame, such as for a link.
  bool ended = false;            ///< `error` tells how `who` ended; else how it was lost.

  /// "worker 2 exited with status 3", "server 0 is lost: nothing heard of it for 5 s, say ...".
  std::string sentence() const;
  /// The launcher's last line; `error` is not ok.
  std::string error_line() const;
};

/// What ended the job, as far as the evidence goes; ok if all workers have succeeded.
Verdict judge(const JobEvidence& evidence);
/// The same, whether it mattered or not.
Verdict cause_of(const JobEvidence& evidence);

/// A worker whose program ended it: not by a signal, and not because somebody else was lost to it.
bool ended_by_itself(const MemberRecord& witness);

/// Members that still run, were not told to end, and are given up by who must know: by the
/// scheduler, or the scheduler by all others. To ask them to end would be in vain.
std::vector<std::size_t> given_up(const JobEvidence& evidence);

/// True if its end can be an answer to the notice `signal` that was sent to all.
bool explained_by(const MemberRecord& witness, int signal);

}  // namespace stretto::launch
