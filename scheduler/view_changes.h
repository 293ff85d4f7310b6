// SPDX-License-Identifier: Apache-2.0
// Changes of the next view, and what they are told as. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/view.h"
#include "scheduler/entrance.h"
#include "scheduler/view_events.h"

namespace stretto {

/// It may be joining.
inline bool is_there(const Member* member) { return member != nullptr && !member->left; }

inline bool is_in(const Member* member) { return is_there(member) && !member->joining; }

/// Of these nodes. Of who is gone already nothing ends any more, if nobody has seen it here.
void keep_those_there(std::set<NodeId>& nodes, const View& view);

/// Workers that are in beside this one. Those who have finished count besides: they are no reason
/// to end the others.
std::uint64_t in_without(const View& view, const Member& worker);

/// If nobody else contributes, all who are in do: a round is somebody's.
void end_contribution(View& next, NodeId node, std::uint64_t round);

/// In the order of their ranks.
std::vector<NodeId> joining_in(const View& next);

/// True if a question has its answer, which all are to have: perhaps that nobody comes in.
bool let_in(Entrance& entrance, View& next, std::set<NodeId>& changed);

/// What a view changes of the one before it, of these members.
Publish news_of(const View& before, const View& after, const std::set<NodeId>& changed,
                const std::map<NodeId, std::string>& lost);

}  // namespace stretto
