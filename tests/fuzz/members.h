// SPDX-License-Identifier: Apache-2.0
// Three workers, of which one is real: their roster, losses, and words about with whom they go on.
#pragma once

#include "core/group_call.h"
#include "core/roster.h"
#include "tests/fuzz/input.h"
#include "van/control/control.h"

namespace stretto::fuzz {

inline constexpr NodeId kShardNode = 2;
inline constexpr NodeId kFirstNode = 3;  // Of the workers: 3 is called by ours, 5 calls it.
inline constexpr NodeId kOurNode = 4;
inline constexpr Rank kWorkers = 3;
inline constexpr const char* kOurAddress = "worker:1";

/// They and a shard.
Roster roster_of_three(bool elastic);

/// One of the workers is lost, or has left. False if it cannot be: it is ours, or has gone.
bool lose_in(Roster& roster, std::uint32_t worker, bool lost);

/// A choice of members, or a word before one, of so many tensors: nearly what it should be.
control::Regroup choice_from(Input& input, const Roster& roster, std::size_t tensors);

/// One of few calls of a group, so that what members call meets, and at times agrees.
GroupCall group_call_from(Input& input);

}  // namespace stretto::fuzz
