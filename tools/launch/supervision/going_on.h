// SPDX-License-Identifier: Apache-2.0
// GoingOn: without whom an elastic job goes on, and whose place is taken in one of fixed size. The
// job's scheduler says so, which has seen links end: a failure of such a member waits for that word
// as long as a scheduler may stand still, and a worker that is lost and still runs has time to come
// to the job again, unless another has been started in its place. Pure: evidence and the time go
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
  /// Whose loss it may be that does not end the job.
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

  /// `restarts`: of servers for which others stand by.
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
  /// This member has ended or was lost, in a job that had come together.
  void await_word(JobEvidence& evidence, std::size_t member, Time now) const;
  /// The host of this worker is silent, and may live: its scheduler says if the worker is lost.
  bool may_go_unwatched(const JobEvidence& evidence, std::size_t member) const;
  /// This member has ended in a job that had not come together: the scheduler of an elastic job may
  /// await another process for it, if a restart is left.
  void await_another(JobEvidence& evidence, std::size_t member, Time now) const;
  /// The word has come: what the user should read of it, if it is news.
  std::string take_word(JobEvidence& evidence, std::size_t member, Time now);
  /// A worker that has left in order has failed since, and is not missed. Empty: it has not left.
  static std::string take_end_of_leaver(JobEvidence& evidence, std::size_t member);
  /// The same of a server that nobody comes for: it is to end soon.
  std::string drop(JobEvidence& evidence, std::size_t member, Time now);
  /// The scheduler may be run again, if it is lost.
  bool scheduler_returns(const JobEvidence& evidence) const;
  /// The word has come of a server, or the scheduler is silent. True: it is to be killed, and run
  /// again once it has ended.
  bool await_return(JobEvidence& evidence, std::size_t member);
  /// Such a member may be lost with its host.
  bool may_lose_hosts(Role role) const {
    return role == Role::kWorker || (role == Role::kServer && servers_stand_by(sizing_));
  }
  /// Another is to be run in the place of this server. If not, the job goes on without it: who
  /// stood by for it has its place, or it stood by.
  bool returns(const JobEvidence& evidence, std::size_t member) const;
  /// Members that have ended and are to be run again, all or the scheduler alone; how they ended,
  /// and what the user should read.
  static std::vector<std::pair<std::size_t, std::string>> take_returns(JobEvidence& evidence,
                                                                       bool all);
  /// `replacement` is started for this member, which is to end.
  void replace(JobEvidence& evidence, std::size_t member, std::size_t replacement, Time now);
  /// It has come to the job again, and is as others are: what the user should read of it.
  std::string take_back(JobEvidence& evidence, std::size_t member);
  /// So many workers are in that were started elsewhere. Where all that were started here have
  /// ended the job lasts as long as that is said again and again.
  void take_guests(JobEvidence& evidence, std::uint32_t guests, Time now);
  /// Time has passed: failures whose word did not come count from now on, but for those of workers
  /// that were started for others and have not come in, and of servers that have ended before they
  /// stood by: the job does without them. These.
  std::vector<std::size_t> look(JobEvidence& evidence, Time now);

  /// Who still runs though the job has gone on without it for long, or is done. A replacement that
  /// has not joined a job that is done has Limits::settle to end by itself.
  std::vector<std::size_t> overdue(const JobEvidence& evidence, Time now);
  /// When look() or overdue() may find something.
  std::optional<Time> deadline(const JobEvidence& evidence) const;
  /// Who was lost to a job that is done, in words; empty: nobody.
  static std::string farewell(const JobEvidence& evidence);

 private:
  // A worker of an elastic job that needs it no more: it has left, or the job is done.
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
  Time guests_until_ = {};               // So long the word about them is good.
  std::map<std::size_t, Time> ends_by_;  // Members that are lost and run.
};

/// All workers of an elastic job have ended. If fewer than `least` ended well, guests included, the
/// first worker that failed after it had left in order is not forgiven any more.
void blame_leaver(JobEvidence& evidence, std::uint32_t least);

}  // namespace stretto::launch
