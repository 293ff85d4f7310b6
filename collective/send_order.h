// SPDX-License-Identifier: Apache-2.0
// Turns: in which order a member sends what it could send at once. If all members began with the
// same part, all would send to its root, whose link would be the limit while the others' are idle;
// so each begins with who comes after itself (the usual order of an all-to-all by shifts).
#pragma once

#include <cstdint>
#include <vector>

#include "collective/tree.h"

namespace stretto::collective {

/// The indices of parts with these parents, of `self` among so many places: of as many parts as
/// there are places those first whose parent comes next after `self`, then the parts after them.
/// Nobody's children, whose sums stay here, come first.
std::vector<std::uint32_t> turns_of(Place self, std::uint32_t places,
                                    const std::vector<Place>& parents);

/// Children in the order in which a value goes to them: those after `self` first.
std::vector<Place> children_in_turn(const TreeNode& node);

}  // namespace stretto::collective
