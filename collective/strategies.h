// SPDX-License-Identifier: Apache-2.0
// The primitives of all-reduce, as strategies over given members. Each member carries the bytes of
// the textbook algorithm; comments give the usual names.
#pragma once

#include <vector>

#include "collective/strategy.h"

namespace stretto::collective {

using Places = std::vector<Place>;

// All return kInvalidArgument for no members, duplicate members, and more than kMostPlaces.

/// Each member is the root of its proportion of the parts (equal if none are given), and all others
/// send to it: reduce-scatter and all-gather among all pairs.
Result<Strategy> direct(const Places& members, const std::vector<double>& proportions = {});
/// Each part goes once around, from the place after its root to the root, and the value back.
Result<Strategy> ring(const Places& order);
/// Recursive halving, then doubling: binomial trees, with equal numbers of parts rooted at each
/// core member. The core is the largest power of two of the first members. Each remaining member is
/// attached to one of them, so list the members with the best links first.
Result<Strategy> halving_doubling(const Places& best_first);
/// `count` binary trees (1 to members), each over another rotation of the members.
Result<Strategy> binary_trees(const Places& order, std::size_t count);
/// Sums of a group (a host's workers, a rack's hosts) leave it once. `among` is the strategy among
/// groups: its places are indices of `groups`. Members of a group take turns as its leader, so the
/// work is divided equally.
Result<Strategy> hierarchical(const std::vector<Places>& groups, const Strategy& among);
/// All members send to a place that does not contribute: a server.
Result<Strategy> one_server(const Places& members, Place server);

}  // namespace stretto::collective
