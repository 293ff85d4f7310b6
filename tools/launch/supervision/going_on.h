// SPDX-License-Identifier: Apache-2.0
// GoingOn, the loss policy: which members an elastic job continues without, and which are replaced
// in a job of fixed size. The scheduler decides, as it has seen connections close: a member's
// failure waits for that decision for as long as a scheduler may stall. An expelled worker that
// still runs has time to rejoin, unless a replacement has started. Pure: evidence and the time go
// in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/launch/plan/plan.h"
#include "tools/launch/supervision/evidence.h"

namespace stretto::launch {

/// Thread: loop.
class GoingOn {
 public:
  /// Members whose loss may not end the job.
  enum class Sizing : std::uint8_t {
    kFixed,
    kServersReturn,
    kServersStandBy,
    kElastic,
    kElasticStandBy
  };
  static bool servers_stand_by(Sizing sizing) {
    return sizing == Sizing::kServersStandBy || sizing == Sizing::kElasticStandBy;
  }
  static bool is_elastic(Sizing sizing) {
    return sizing == Sizing::kElastic || sizing == Sizing::kElasticStandBy;
  }

  /// `restarts`: of servers with standbys.
  GoingOn(const Limits& limits, Sizing sizing, std::uint32_t restarts = 0)
      : again_(limits.again),
        settle_(limits.settle),
        word_(limits.word),
        returns_(limits.returns),
        places_(limits.places),
        least_workers_(limits.least_workers),
        sizing_(sizing),
        restarts_(restarts) {}

  bool elastic() const { return is_elastic(sizing_); }
  /// Limits::places.
  std::uint32_t places() const { return places_; }
  /// This member of a complete job has ended or was lost: awaits the scheduler's decision.
  void await_word(JobEvidence& evidence, std::size_t member, Time now) const;
  /// The host of this worker is silent, and may live: the scheduler decides about the worker.
  bool may_go_unwatched(const JobEvidence& evidence, std::size_t member) const;
  /// This member has ended while the job was forming: the scheduler of an elastic job may await
  /// another process for it, if a restart is left.
  void await_another(JobEvidence& evidence, std::size_t member, Time now) const;
  /// The decision has arrived: a note for the user, if it is news.
  std::string take_word(JobEvidence& evidence, std::size_t member, Time now);
  /// A worker has failed after it left, which is harmless. Empty: it has not left.
  static std::string take_end_of_leaver(JobEvidence& evidence, std::size_t member);
  /// Drops a server that is not needed: it must end soon. A note for the user, or empty.
  std::string drop(JobEvidence& evidence, std::size_t member, Time now);
  /// The scheduler may be restarted if it is lost.
  bool scheduler_returns(const JobEvidence& evidence) const;
  /// The scheduler reported the loss of a server, or is silent. True: the member must be killed,
  /// and restarted once it has ended.
  bool await_return(JobEvidence& evidence, std::size_t member);
  /// Such a member may be lost with its host.
  bool may_lose_hosts(Role role) const {
    return role == Role::kWorker || (role == Role::kServer && servers_stand_by(sizing_));
  }
  /// A replacement of this server must start. If not, the job continues without it: its standby was
  /// promoted, or it was the standby.
  bool returns(const JobEvidence& evidence, std::size_t member) const;
  /// Ended members that must restart, all or the scheduler alone, each with a note for the user
  /// about its end.
  static std::vector<std::pair<std::size_t, std::string>> take_returns(JobEvidence& evidence,
                                                                       bool all);
  /// `replacement` is started for this member, which must end.
  void replace(JobEvidence& evidence, std::size_t member, std::size_t replacement, Time now);
  /// The member has rejoined, and counts like all others: a note for the user.
  std::string take_back(JobEvidence& evidence, std::size_t member);
  /// `guests` external workers are in the job. If all workers started here have ended, the job
  /// lasts while the scheduler repeats this report.
  void take_guests(JobEvidence& evidence, std::uint32_t guests, Time now);
  /// Time has passed: failures without a decision count from now on. Exceptions, which are returned
  /// and which the job does not need: workers started as replacements that have not joined, and
  /// servers that ended before they became standbys.
  std::vector<std::size_t> look(JobEvidence& evidence, Time now);

  /// Members that still run long after the job continued without them, or succeeded. A replacement
  /// that has not joined a finished job has Limits::settle to end.
  std::vector<std::size_t> overdue(const JobEvidence& evidence, Time now);
  /// When look() or overdue() may find something.
  std::optional<Time> deadline(const JobEvidence& evidence) const;
  /// Describes the members that were lost to a finished job; empty: none.
  static std::string farewell(const JobEvidence& evidence);

 private:
  // A worker that its elastic job does not need: it has left, or the job is done.
  bool has_left(const JobEvidence& evidence, const MemberRecord& witness) const;
  // When a replacement that has not joined is killed; none: it has joined, or the job runs.
  std::optional<Time> replacement_due(const JobEvidence& evidence, std::size_t member) const;

  const Duration again_;
  const Duration settle_;
  const Duration word_;
  const std::uint32_t returns_;
  const std::uint32_t places_;
  const std::uint32_t least_workers_;
  const Sizing sizing_;
  std::uint32_t restarts_;
  Time guests_until_ = {};               // Until then the report about external workers is valid.
  std::map<std::size_t, Time> ends_by_;  // Lost members that still run.
};

/// All workers of an elastic job have ended. If fewer than `least` succeeded, external ones
/// included, the first worker that failed after leaving is not forgiven any more.
void blame_leaver(JobEvidence& evidence, std::uint32_t least);

}  // namespace stretto::launch
