// SPDX-License-Identifier: Apache-2.0
// Three workers, one of them real: their roster, losses, and messages on group reconfiguration.
#pragma once

#include "core/group_call.h"
#include "core/roster.h"
#include "tests/fuzz/input.h"
#include "van/control/control.h"

namespace stretto::fuzz {

inline constexpr NodeId kShardNode = 2;
inline constexpr NodeId kFirstNode = 3;  // Of the workers; ours connects to 3, 5 to ours.
inline constexpr NodeId kOurNode = 4;
inline constexpr Rank kWorkers = 3;
inline constexpr const char* kOurAddress = "worker:1";

/// The workers and a shard.
Roster roster_of_three(bool elastic);

/// One of the workers is lost or has left. False for the real one and for departed ones.
bool lose_in(Roster& roster, std::uint32_t worker, bool lost);

/// A decision on members, or a message before one, for `tensors` tensors: nearly valid.
control::Regroup choice_from(Input& input, const Roster& roster, std::size_t tensors);

/// One of few group calls, so that members' calls meet and sometimes match.
GroupCall group_call_from(Input& input);

}  // namespace stretto::fuzz
