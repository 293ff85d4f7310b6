// SPDX-License-Identifier: Apache-2.0
// JobEvidence: what a launcher knows of each process of a job, whoever judges it: how it ended or
// was lost, whether the launcher had told it to end, and what it said last. The last line of a
// failed process names who it takes for the cause (peer=), so survivors are witnesses.
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

/// What a failed process says in its last line, as far as a verdict needs it.
struct ErrorLine {
  Code code = Code::kOk;
  std::string peer;  ///< Who caused it, as the line has it; "-": nobody.
  std::string cause;

  friend bool operator==(const ErrorLine&, const ErrorLine&) = default;
};

/// The statement in a line of `speaker`'s output; none if it is no error line, or another's.
std::optional<ErrorLine> statement_of(std::string_view line, const JobMember& speaker);

struct MemberRecord;
/// True if `line` says only that the launcher's own notice ended this member.
bool answers_notice(const MemberRecord& witness, std::string_view line);

/// One member of the job.
struct MemberRecord {
  enum class Life : std::uint8_t { kUnborn, kAlive, kEnded };

  explicit MemberRecord(const JobMember& who) : member(who) {}

  JobMember member;
  bool spare = false;     ///< To be started if another is lost: the job does without it.
  bool again = false;     ///< It was lost, and has come again: the job may be done before it is in.
  bool joined = false;    ///< A worker that was started later, by the scheduler's word.
  bool left = false;      ///< A worker that has left in order, by the scheduler's word.
  bool unneeded = false;  ///< A replacement whose place another worker has: it ends, and is spare.
  bool unreplaced = false;  ///< A lost worker: no spare was free for it.
  bool unwatched = false;   ///< Its host is silent, and its scheduler hears of it: the job goes on.
  bool spent = false;  ///< A spare that never runs: a worker that had not joined used its restart.
  std::optional<std::size_t> replaces;   ///< It is started for this worker, or soon.
  std::optional<std::size_t> comes_for;  ///< It is to have this member's place, and has not yet.
  Life life = Life::kUnborn;
  std::optional<Exit> exit;        ///< None: it runs, or was lost out of sight.
  Status lost;                     ///< Why it could not be run, or not be watched any more.
  int lost_status = 1;             ///< The launcher's exit status, if that was the cause.
  Time at = {};                    ///< When it ended or was lost.
  bool told = false;               ///< The launcher told it to end, or killed it, before it ended.
  bool asked = false;              ///< It got SIGTERM as its host leaves the job.
  std::optional<ErrorLine> said;   ///< Before it was told.
  bool forgiven = false;           ///< An elastic job goes on without it, by its scheduler's word,
  std::optional<Time> word_due;    ///< or may yet: that is known by then.
  bool awaited = false;            ///< A server: it is to be run again, by its scheduler's word,
  std::uint32_t returned = 0;      ///< and has been so often.
  std::optional<Rank> lost_guest;  ///< It is run for this one, which had its place and is lost.

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
      interrupt;  ///< The launcher was sent this signal, before any failure or after.

  std::uint32_t guests = 0;       ///< Workers that are in and were started elsewhere, by the
                                  ///< scheduler's last word.
  std::uint32_t most_guests = 0;  ///< The largest number of them so far.

  /// `member`, which has not run before, runs now.
  void record_start(std::size_t member);
  /// It has ended, and may run again: what was known of it is of no more use.
  void record_return(std::size_t member);
  /// The same of one that has ended, or has not run, and runs for another reason than its end.
  void record_reuse(std::size_t member);
  /// `member`, which runs, has ended.
  void record_end(std::size_t member, const Exit& exit, Time now);
  /// `member` is lost, whether it runs or not. A scheduler that is only silent runs on: it is told
  /// to end as all are.
  void record_loss(std::size_t member, int exit_status, Status why, Time at);
  /// What is lost with its host does not run any more, as far as we can ever know.
  void record_out_of_sight(std::size_t member);

  bool is_alive(std::size_t member) const {
    return members[member].life == MemberRecord::Life::kAlive;
  }
  /// Those that the launcher has started, but for those without which the job has gone on.
  bool workers_succeeded() const;
  /// Workers that were started elsewhere have the scheduler's word, which has not ended well yet.
  bool guests_go_on() const { return guests > 0 && !members.front().succeeded(); }
  bool failed() const;
  /// The scheduler runs, or another is run in its place.
  bool has_scheduler() const;
  bool workers_ended() const;
  bool all_ended() const;
  /// "worker 0, worker 1 and 3 more": members that run, or those of them that `wanted` names.
  std::string alive_names(const std::function<bool(const JobMember&)>& wanted = {}) const;
};

}  // namespace stretto::launch
