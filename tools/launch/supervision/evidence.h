// SPDX-License-Identifier: Apache-2.0
// JobEvidence: the launcher's knowledge of each process of a job: how it ended or was lost, whether
// the launcher had asked it to end, and its last line. The last line of a failed process names the
// suspected cause (peer=), so survivors are witnesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/launch/plan/plan.h"
#include "tools/launch/process/process_events.h"

namespace stretto::launch {

/// The last line of a failed process, as far as judge() needs it.
struct ErrorLine {
  Code code = Code::kOk;
  std::string peer;  ///< The suspected cause, as in the line; "-": none.
  std::string cause;

  friend bool operator==(const ErrorLine&, const ErrorLine&) = default;
};

/// The statement in a line of `speaker`'s output; none if the line is no error line of its own.
std::optional<ErrorLine> statement_of(std::string_view line, const JobMember& speaker);

struct MemberRecord;
/// True if `line` reports only that the launcher's own notice ended this member.
bool answers_notice(const MemberRecord& witness, std::string_view line);

/// One member of the job.
struct MemberRecord {
  enum class Life : std::uint8_t { kUnborn, kAlive, kEnded };

  explicit MemberRecord(const JobMember& who) : member(who) {}

  JobMember member;
  bool spare = false;     ///< A replacement, not started initially.
  bool again = false;     ///< It was lost and has rejoined: the job may end before it is admitted.
  bool joined = false;    ///< A later-started worker that the scheduler reported as joined.
  bool left = false;      ///< A worker that the scheduler reported as having left.
  bool unneeded = false;  ///< A replacement whose rank another worker has: it ends, and is spare.
  bool unreplaced = false;  ///< A lost worker: no spare was free for it.
  bool unwatched = false;   ///< Its host is silent; the job continues while its scheduler hears it.
  bool spent = false;  ///< A spare that never runs: a worker that had not joined used its restart.
  std::optional<std::size_t> replaces;   ///< It starts for this worker, or soon will.
  std::optional<std::size_t> comes_for;  ///< It will replace this member, and has not yet.
  Life life = Life::kUnborn;
  std::optional<Exit> exit;        ///< None: it runs, or was lost with its host.
  Status lost;                     ///< Why it could not run, or is not watched any more.
  int lost_status = 1;             ///< The launcher's exit status, if this is the cause.
  Time at = {};                    ///< When it ended or was lost.
  bool told = false;               ///< The launcher asked it to end, or killed it, before it ended.
  bool asked = false;              ///< It got SIGTERM as its host drains.
  std::optional<ErrorLine> said;   ///< Before it was asked to end.
  bool forgiven = false;           ///< The scheduler reported that the job continues without it,
  std::optional<Time> word_due;    ///< or may until then.
  bool awaited = false;            ///< A server that must restart, as the scheduler reported,
  std::uint32_t returned = 0;      ///< and its restarts so far.
  std::optional<Rank> lost_guest;  ///< It replaces this lost external server.

  /// It failed, or was lost, before the launcher asked it to end.
  bool failed_by_itself() const {
    const bool excused = told || forgiven || word_due || awaited || unwatched;
    return !excused && (!lost.ok() || (exit.has_value() && exit->failed()));
  }
  bool succeeded() const { return exit.has_value() && !exit->failed(); }
};

struct JobEvidence {
  std::vector<MemberRecord> members;  ///< In starting order: the scheduler is the first.
  std::optional<int>
      interrupt;  ///< This signal was sent to the launcher, before or after any failure.

  std::uint32_t guests = 0;       ///< External workers in the job, as last reported by the
                                  ///< scheduler.
  std::uint32_t most_guests = 0;  ///< The largest number of them so far.

  /// `member` starts for the first time.
  void record_start(std::size_t member);
  /// It has ended, and may run again: clears its record.
  void record_return(std::size_t member);
  /// Clears the record of a member that runs for another reason than its own end.
  void record_reuse(std::size_t member);
  /// The running `member` has ended.
  void record_end(std::size_t member, const Exit& exit, Time now);
  /// `member` is lost, whether it runs or not. A scheduler that is only silent still runs, and is
  /// asked to end like all others.
  void record_loss(std::size_t member, int exit_status, Status why, Time at);
  /// A member that is lost with its host is assumed to have ended.
  void record_out_of_sight(std::size_t member);

  bool is_alive(std::size_t member) const {
    return members[member].life == MemberRecord::Life::kAlive;
  }
  /// All workers that the launcher has started, except those that the job does not need.
  bool workers_succeeded() const;
  /// The scheduler has reported external workers, and has not ended successfully.
  bool guests_go_on() const { return guests > 0 && !members.front().succeeded(); }
  bool failed() const;
  /// The scheduler runs, or is being restarted.
  bool has_scheduler() const;
  bool workers_ended() const;
  bool all_ended() const;
  /// "worker 0, worker 1 and 3 more": running members, or those of them for which `wanted` is true.
  std::string alive_names(const std::function<bool(const JobMember&)>& wanted = {}) const;
};

}  // namespace stretto::launch
