// SPDX-License-Identifier: Apache-2.0
// StallDiagnosis: whom a job that stands still waits for, and by what that one is held up, decided
// from a table of what all members last said. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/roster.h"
#include "van/control/control.h"

namespace stretto {

/// What members last said, as far as it tells who waits for whom.
struct JobActivity {
  /// A server's: a round that waits for pushes.
  struct Wait {
    NodeId shard = 0;
    std::string tensor = {};
    std::uint64_t round = 0;
    Time since;                      ///< When the first of those who wait came.
    std::vector<Rank> missing = {};  ///< Whose pushes it lacks.
  };
  struct Row {
    Member member;
    Time heard;             ///< Its last heartbeat; later by the time in which nobody was heard.
    Time paused;            ///< When it last said that it pauses; Time(): never.
    std::string call = {};  ///< Of a worker: the operation or barrier that it waits in for long.
    control::Activity activity = {};
    // Of the time between its last heartbeats:
    double cores = 0;             ///< Processor time a second.
    double page_reads_per_s = 0;  ///< Pages of memory that it waited for.
    double input_wait = 0;        ///< Part of it in which its program waited for a reader.
    bool moves = false;           ///< Data came or left.
  };

  std::map<NodeId, Row> rows;  ///< Of those who are in.
  std::vector<Wait> waits;
  Duration limit{};           ///< A wait that is longer is a standstill.
  Duration silent_after{};    ///< So is the silence of who should have been heard;
  Duration doubtful_after{};  ///< and after this time what it last said may be no longer true.
  Time last_life;             ///< When anybody was heard last: silence is counted up to then.
  Time resumed;               ///< Before then nobody had been heard: the host, or all, stood still.
};

/// Where somebody is for whom others wait.
enum class StallPhase : std::uint8_t {
  kComputing,   ///< In its own program.
  kInCall,      ///< In a call that need not wait for others.
  kStopped,     ///< Nothing is heard of it: it is stopped, or its link to the scheduler is silent.
  kOnLink,      ///< Its frames do not arrive.
  kEnding,      ///< Its program ends, and has not left.
  kInOtherCall  ///< It waits for others, in another call than they do.
};
std::string_view name_of(StallPhase phase);

/// What holds it up there.
enum class StallCause : std::uint8_t {
  kComputes,
  kLock,  ///< Another thread, or process, of its own.
  kSleeps,
  kData,    ///< A reader, a file, a pipe or a socket.
  kMemory,  ///< Pages that have to be read from a disk.
  kChild,   ///< A process that it has started.
  kCall,
  kHeldBack,  ///< Its program has paused what others wait for.
  kSilence,
  kLink,
  kEnd,
  kOtherCall
};
std::string_view name_of(StallCause cause);

/// Who holds the others up.
struct StallDiagnosis {
  Role role = Role::kWorker;
  Rank rank = 0;
  std::uint32_t shard = 0;
  StallPhase phase = StallPhase::kComputing;
  StallCause cause = StallCause::kComputes;
  Duration age{};    ///< How long others have waited.
  std::string text;  ///< "worker 1 sleeps, and has not pushed 'x', round 7".

  /// The same one, held up by the same.
  bool agrees(const StallDiagnosis& other) const {
    return role == other.role && rank == other.rank && shard == other.shard &&
           phase == other.phase && cause == other.cause;
  }
};

/// Nothing while all goes on, while somebody pauses for whom others wait, and while what is said
/// does not tell yet: it may be as old as a heartbeat and a server's look at its rounds.
std::optional<StallDiagnosis> culprit(const JobActivity& table, Time now);

}  // namespace stretto
