// SPDX-License-Identifier: Apache-2.0
// The order in which a member sends messages that are ready. If all members began with the same
// part, its root's link would be the bottleneck while others are idle. So each member begins with
// the next place after its own (the usual order of an all-to-all by shifts).
#pragma once

#include <cstdint>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// The indices of parts with these parents, in the send order of `self` among `places`: in each
/// block of `places` parts, those whose parent comes next after `self` go first. Parts without a
/// parent (kNobody), whose sums stay here, come first.
std::vector<std::uint32_t> turns_of(Place self, std::uint32_t places,
                                    const std::vector<Place>& parents);

/// Children in the order in which a value is sent to them: those after `self` first.
std::vector<Place> children_in_turn(const TreeNode& node);

}  // namespace stretto::collective
