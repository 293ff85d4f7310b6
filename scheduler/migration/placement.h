// SPDX-License-Identifier: Apache-2.0
// Placement: which server ranks external servers take over while the job runs. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/config/config.h"
#include "core/view.h"
#include "stretto/status.h"

namespace stretto {

/// A request for server ranks by the starter of external servers.
struct PlacementRequest {
  std::uint32_t count = 1;            ///< Number of ranks.
  std::optional<Rank> server = {};    ///< The rank of this server; none: the best ranks.
  std::optional<Rank> known_as = {};  ///< A previous scheduler has given it this number.
  std::uint64_t machine = 0;          ///< Where the new servers run.
};

/// The primary of this rank; null: none for now.
const Member* who_serves(const View& view, Rank place);

/// The chosen ranks, best first. With replication, only ranks without a standby are eligible.
/// Prefers the machine with the most servers at that moment; takes ranks on the requester's machine
/// last. `taken`: ranks in migration, with their new server. Errors, if not all can be had:
/// InvalidArgument, ServerLost, Refused.
Result<std::vector<Rank>> places_for(const PlacementRequest& wish, const Config& config,
                                     const View& view, const std::map<Rank, Rank>& taken);

}  // namespace stretto
