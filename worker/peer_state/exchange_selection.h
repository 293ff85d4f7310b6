// SPDX-License-Identifier: Apache-2.0
// By which way a tensor goes whose program leaves that open. All workers of a job find the same:
// what it depends on is the tensor and the roster.
#pragma once

#include <vector>

#include "core/roster.h"
#include "core/tensor_spec.h"
#include "stretto/status.h"
#include "worker/peer_state/peer_tensor.h"

namespace stretto {

/// The specification, with another exchange in place of kAuto where no measurement is needed for
/// it: kServers for what only servers do, in jobs that go on without who is lost, and where servers
/// on machines of their own are predicted to take clearly less; a pinned one for groups and where
/// sums are to have the same bits in every run. `group`: as in Declarations; none: a tensor.
TensorSpec settled(TensorSpec spec, const Roster& roster, NodeId self,
                   const std::vector<Rank>& group);

/// Why the job cannot have a tensor whose rounds close early (TensorOptions::close), or ok.
Status fits(const TensorSpec& spec, const Roster& roster);

/// What is chosen for a tensor of so many bytes when nothing is known of links.
collective::StrategyChoice first_choice(const Participants& members, std::uint64_t bytes,
                                        std::uint32_t part_bytes);

}  // namespace stretto
