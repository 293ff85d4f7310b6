// SPDX-License-Identifier: Apache-2.0
// Changes of the next view, and what they are told as. Pure.
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

/// It may be joining.
inline bool is_there(const Member* member) { return member != nullptr && !member->left; }

inline bool is_in(const Member* member) { return is_there(member) && !member->joining; }

/// Of these nodes. Of who is gone already nothing ends any more, if nobody has seen it here.
void keep_those_there(std::set<NodeId>& nodes, const View& view);

/// Workers that are in beside this one. Those who have finished count besides: they are no reason
/// to end the others.
std::uint64_t in_without(const View& view, const Member& worker);

/// The members that the job goes on without.
struct Spares {
  const Config& config;
  const bool elastic;             ///< Workers may be lost,
  const std::uint32_t& finished;  ///< while there are enough others, with those that have finished.
  const View& next;
  const ServerFailover& places;

  static std::uint64_t least_workers(const Config& config) {
    return std::max(config.job.min_workers, 1U);
  }
  /// It is a worker of an elastic job, a standby, or a server whose standby takes its place.
  bool may_lose(const Member& member) const;
};

/// The end of a broken link that is lost; null: the job cannot go on without either. Where it could
/// go on without both, it is the likelier cause. Without a standby nothing is lost: a worker that
/// is in is the cause only if its links to servers that have places broke, too.
const Member* lost_by(const FaultReports::Fault& fault, const FaultReports& others,
                      const Spares& spares);

/// If nobody else contributes, all who are in do: a round is somebody's.
void end_contribution(View& next, NodeId node, std::uint64_t round);

/// In the order of their ranks.
std::vector<NodeId> joining_in(const View& next);

/// True if a question has its answer, which all are to have: perhaps that nobody comes in.
bool let_in(StepAdmission& entrance, View& next, std::set<NodeId>& changed);

/// What a view changes of the one before it, of these members.
Publish news_of(const View& before, const View& after, const std::set<NodeId>& changed,
                const std::map<NodeId, std::string>& lost);

}  // namespace stretto
