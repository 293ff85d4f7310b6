// SPDX-License-Identifier: Apache-2.0
// WorkerLinks: maps links to workers. Answers hellos once a roster names their senders, and tracks
// workers that have left.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/config/config.h"
#include "core/roster.h"
#include "server/aggregation/contributors.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class WorkerLinks {
 public:
  struct Worker {
    NodeId node = 0;
    Rank number = 0;  ///< Member::number.
  };
  /// Workers that have left the job.
  struct Departures {
    std::vector<NodeId> left;  ///< Gracefully; and
    std::set<NodeId> lost;     ///< ungracefully: their links have ended.
    bool empty() const { return left.empty() && lost.empty(); }
  };

  /// `van` outlives this.
  WorkerLinks(const Config& config, Van& van) : config_(config), van_(van) {}

  /// A hello: follow() answers it, or it is refused at once.
  void greet(LinkId link, const control::Hello& hello);
  /// Answers pending hellos; a standby accepts them without serving. Returns the workers that this
  /// roster is the first to report as gone.
  Departures follow(const Roster& roster, bool serves = true);
  /// Joining workers that the roster admits contribute from now on, and each is told once. True if
  /// that is new. Accepted from contributors only; where this shard may be promoted, a joining
  /// worker may also report its own admission, as the old primary knew it.
  bool take_in(LinkId teller, const control::TakeIn& said, const Roster& roster);
  /// This shard was promoted; these workers contributed to the old primary's rounds.
  void take_over(const std::set<NodeId>& makers, const Roster& roster);
  /// The worker leaves: new rounds do not wait for it.
  void leave(LinkId link);
  /// Removes a link. Returns its worker, if it had one.
  std::optional<Worker> lose(LinkId link);

  /// All admitted workers have sent a hello, so that all can reach this shard.
  bool reached_by_all(const Roster& roster) const;

  /// Null for a link that is not admitted.
  const Worker* find(LinkId link) const;
  /// 0 if it is not connected.
  LinkId link_of(NodeId worker) const {
    const auto known = links_.find(worker);
    return known == links_.end() ? 0 : known->second;
  }
  /// The contributors; null until there is a roster. In an elastic job these are the members,
  /// joining workers from their admission on.
  const ContributorGroup& group() const { return group_; }
  const std::set<NodeId>& left() const { return left_; }

 private:
  struct Caller {  // A worker's hello that waits for the roster.
    LinkId link = 0;
    control::Hello hello;
  };

  void answer(const Caller& caller, const Roster& roster, bool serves);
  void hear(const Member& member, LinkId link);
  void let_in(const Member& member, LinkId link);
  void let_in_heard(const Roster& roster);
  void part_with(const Member& lost);
  ContributorGroup workers_of(const Roster& roster) const;

  const Config& config_;
  Van& van_;
  std::vector<Caller> callers_;
  std::map<LinkId, Worker> workers_;
  std::map<NodeId, LinkId> links_;  // Of connected workers.
  std::map<NodeId, LinkId> heard_;  // Of workers that connected to this standby.
  ContributorGroup group_;
  std::set<NodeId> left_;                      // By their own message, or a roster,
  std::set<NodeId> told_left_;                 // and those reported by a roster.
  std::set<NodeId> taken_in_;                  // Joining workers that contribute,
  std::map<NodeId, control::TakeIn> told_in_;  // and the message for each of them.
  std::uint32_t followed_epoch_ = 0;
};

}  // namespace stretto
