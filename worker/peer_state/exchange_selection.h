// SPDX-License-Identifier: Apache-2.0
// The exchange of a tensor whose program leaves it open (kAuto). All workers of a job get the same
// result: it depends only on the tensor and the roster.
#pragma once

#include <vector>

#include "core/roster.h"
#include "core/tensor_spec.h"
#include "stretto/status.h"
#include "worker/peer_state/peer_tensor.h"

namespace stretto {

/// The specification, with kAuto resolved where that needs no measurement: to kServers for what
/// only servers do, in elastic jobs, and where servers on machines of their own are predicted to
/// take clearly less time; to a pinned exchange for groups, and where sums must have the same bits
/// in every run. `group`: as in Declarations; none: a tensor.
TensorSpec settled(TensorSpec spec, const Roster& roster, NodeId self,
                   const std::vector<Rank>& group);

/// Why the job cannot have a tensor whose rounds close early (TensorOptions::close), or ok.
Status fits(const TensorSpec& spec, const Roster& roster);

/// The choice for a tensor of this size when no link rates are known.
collective::StrategyChoice first_choice(const Participants& members, std::uint64_t bytes,
                                        std::uint32_t part_bytes);

}  // namespace stretto
