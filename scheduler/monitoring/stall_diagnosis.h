// SPDX-License-Identifier: Apache-2.0
// StallDiagnosis: the straggler of a stalled job and what blocks it, derived from a table of all
// members' last reports. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/roster.h"
#include "van/control/control.h"

namespace stretto {

/// The members' last reports, as far as they show which member waits for which.
struct JobActivity {
  /// A server's: a round that waits for pushes.
  struct Wait {
    NodeId shard = 0;
    std::string tensor = {};
    std::uint64_t round = 0;
    Time since;                      ///< When the first waiter came.
    std::vector<Rank> missing = {};  ///< Workers whose pushes are missing.
  };
  struct Row {
    Member member;
    Time heard;             ///< Its last heartbeat, plus the time in which no member was heard.
    Time paused;            ///< When it last reported a pause; Time(): never.
    std::string call = {};  ///< Of a worker: the operation or barrier of its long wait.
    control::Activity activity = {};
    // Over the time between its last heartbeats:
    double cores = 0;             ///< Processor time a second.
    double page_reads_per_s = 0;  ///< Pages of memory it waited for.
    double input_wait = 0;        ///< Part of the time in which its program waited for a reader.
    bool moves = false;           ///< Data was received or sent.
  };

  std::map<NodeId, Row> rows;  ///< Of current members.
  std::vector<Wait> waits;
  Duration limit{};           ///< A longer wait is a stall.
  Duration silent_after{};    ///< A longer silence of a member, too;
  Duration doubtful_after{};  ///< after this time its last report may be outdated.
  Time last_life;             ///< When any member was last heard: silence is counted until then.
  Time resumed;               ///< No member was heard before: the host or all members slept.
};

/// The state of a straggler.
enum class StallPhase : std::uint8_t {
  kComputing,   ///< In its own program.
  kInCall,      ///< In a call that does not wait for other workers.
  kStopped,     ///< Not heard: it is stopped, or its link to the scheduler is silent.
  kOnLink,      ///< Its frames do not arrive.
  kEnding,      ///< Its program is ending, and has not left.
  kInOtherCall  ///< It waits for other workers, in another call than theirs.
};
std::string_view name_of(StallPhase phase);

/// What blocks it there.
enum class StallCause : std::uint8_t {
  kComputes,
  kLock,  ///< Another thread of its own, or another process.
  kSleeps,
  kData,    ///< A reader, a file, a pipe or a socket.
  kMemory,  ///< Pages being read from a disk.
  kChild,   ///< A process that it has started.
  kCall,
  kHeldBack,  ///< Its program has paused the awaited operation.
  kSilence,
  kLink,
  kEnd,
  kOtherCall
};
std::string_view name_of(StallCause cause);

/// The straggler that blocks the other workers.
struct StallDiagnosis {
  Role role = Role::kWorker;
  Rank rank = 0;
  std::uint32_t shard = 0;
  StallPhase phase = StallPhase::kComputing;
  StallCause cause = StallCause::kComputes;
  Duration age{};    ///< How long the other workers have waited.
  std::string text;  ///< "worker 1 sleeps, and has not pushed 'x', round 7".

  /// Names the same member, in the same phase, for the same cause.
  bool agrees(const StallDiagnosis& other) const {
    return role == other.role && rank == other.rank && shard == other.shard &&
           phase == other.phase && cause == other.cause;
  }
};

/// Nothing while the job makes progress, while an awaited worker pauses, and while the reports are
/// inconclusive: they may be as old as a heartbeat and a server's check of its rounds.
std::optional<StallDiagnosis> culprit(const JobActivity& table, Time now);

}  // namespace stretto
