// SPDX-License-Identifier: Apache-2.0
// PlaceChoice: which places of servers those get that somebody starts elsewhere, while the job
// runs. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/config/config.h"
#include "core/view.h"
#include "stretto/status.h"

namespace stretto {

/// Somebody starts servers himself, and places are to be theirs.
struct PlacementRequest {
  std::uint32_t count = 1;            ///< So many places.
  std::optional<Rank> server = {};    ///< That of this server; none: whichever are best.
  std::optional<Rank> known_as = {};  ///< A scheduler before this one has let it be this one.
  std::uint64_t machine = 0;          ///< Where they run.
};

/// Who has it; null: nobody for now.
const Member* who_serves(const View& view, Rank place);

/// In their order. Where others stand by for servers a place is one for which nobody does. They are
/// taken from the machine that has the most servers at that moment, and of places that are on their
/// own machine last. `taken`: places that are being handed over, and the number of who is to have
/// them. Errors, if not all of them can be: InvalidArgument, ServerLost, Refused, with the reason.
Result<std::vector<Rank>> places_for(const PlacementRequest& wish, const Config& config,
                                     const View& view, const std::map<Rank, Rank>& taken);

}  // namespace stretto
