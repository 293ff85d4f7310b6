// SPDX-License-Identifier: Apache-2.0
// WorkerLinks: which worker is behind which link. Greets those who connect once there is a roster
// to know them by, and remembers who has left.
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
  /// Who has gone.
  struct Departures {
    std::vector<NodeId> left;  ///< In order; and
    std::set<NodeId> lost;     ///< not: their links have ended.
    bool empty() const { return left.empty() && lost.empty(); }
  };

  /// `van` outlives this.
  WorkerLinks(const Config& config, Van& van) : config_(config), van_(van) {}

  /// A hello: answered by follow(), or refused at once.
  void greet(LinkId link, const control::Hello& hello);
  /// Answers those who wait: while this shard does not serve, that they have been heard. The
  /// workers that this roster, and none before it, says have gone.
  Departures follow(const Roster& roster, bool serves = true);
  /// Newcomers make rounds from now on, those of them who are in, and each hears of it once. True
  /// if that is new. No word counts but of a worker that makes rounds, or, where this shard may
  /// have another's place, which knew, of a newcomer that it has been taken in.
  bool take_in(LinkId teller, const control::TakeIn& said, const Roster& roster);
  /// This shard has another's place, where these made rounds.
  void take_over(const std::set<NodeId>& makers, const Roster& roster);
  /// What a worker says: it is waited for no longer, by what is new from now on.
  void leave(LinkId link);
  /// Forgets a link. The worker behind it, if it was one.
  std::optional<Worker> lose(LinkId link);

  /// All workers that are in have said hello, so that all can reach this shard.
  bool reached_by_all(const Roster& roster) const;

  /// Null for one that is not admitted.
  const Worker* find(LinkId link) const;
  /// 0 if it is not connected.
  LinkId link_of(NodeId worker) const {
    const auto known = links_.find(worker);
    return known == links_.end() ? 0 : known->second;
  }
  /// Who makes rounds; null until there is a roster. In an elastic job those who are in, newcomers
  /// from when they have been taken in.
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
  std::map<NodeId, LinkId> links_;  // Of those who are connected.
  std::map<NodeId, LinkId> heard_;  // Of those who have called, while this shard stands by.
  ContributorGroup group_;
  std::set<NodeId> left_;                      // They said so, or a roster,
  std::set<NodeId> told_left_;                 // and those of whom a roster did.
  std::set<NodeId> taken_in_;                  // Newcomers that make rounds,
  std::map<NodeId, control::TakeIn> told_in_;  // and those who are told so when they are here.
  std::uint32_t followed_epoch_ = 0;
};

}  // namespace stretto
