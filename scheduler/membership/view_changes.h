// SPDX-License-Identifier: Apache-2.0
// Changes of the next view, and how they are published. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/view.h"
#include "scheduler/membership/fault_reports.h"
#include "scheduler/membership/server_failover.h"
#include "scheduler/membership/step_admission.h"
#include "scheduler/membership/view_events.h"

namespace stretto {

/// The member has not left; it may be joining.
inline bool is_there(const Member* member) { return member != nullptr && !member->left; }

inline bool is_in(const Member* member) { return is_there(member) && !member->joining; }

/// Removes nodes that have left the view: the ends of their links may never be reported here.
void keep_those_there(std::set<NodeId>& nodes, const View& view);

/// Number of workers in the view without this one. Workers that have finished count, too: they are
/// no reason to end the others.
std::uint64_t in_without(const View& view, const Member& worker);

/// The members that the job goes on without.
struct Spares {
  const Config& config;
  const bool elastic;             ///< Workers may fail,
  const std::uint32_t& finished;  ///< if enough others remain, including those that have finished.
  const View& next;
  const ServerFailover& places;

  static std::uint64_t least_workers(const Config& config) {
    return std::max(config.job.min_workers, 1U);
  }
  /// True for a worker of an elastic job, a standby, or a server whose standby is promoted.
  bool may_lose(const Member& member) const;
};

/// The end of a broken link that is expelled; null: the job cannot go on without either end. If the
/// job can go on without both, it is the likelier cause. To expel a standby loses no data: a worker
/// is the cause only if its links to primaries broke, too.
const Member* lost_by(const FaultReports::Fault& fault, const FaultReports& others,
                      const Spares& spares);

/// If no contributor remains, all workers in the view contribute: a round needs a contributor.
void end_contribution(View& next, NodeId node, std::uint64_t round);

/// In the order of their ranks.
std::vector<NodeId> joining_in(const View& next);

/// True if a question was decided; all members must learn of that, even if no worker is admitted.
bool let_in(StepAdmission& entrance, View& next, std::set<NodeId>& changed);

/// What a view changes for these members, compared to the view before it.
Publish news_of(const View& before, const View& after, const std::set<NodeId>& changed,
                const std::map<NodeId, std::string>& lost);

}  // namespace stretto
