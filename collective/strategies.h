// SPDX-License-Identifier: Apache-2.0
// The primitives of all-reduce, as strategies over given members. Bytes that each one carries are
// those of the textbook; what a primitive is called elsewhere is said at it.
#pragma once

#include <vector>

#include "collective/strategy.h"

namespace stretto::collective {

using Places = std::vector<Place>;

// All refuse with kInvalidArgument: no member, a member twice, more than kMostPlaces.

/// Each member is the root of its proportion of the parts (of equal ones if none are given), and
/// all others send to it: reduce-scatter and all-gather among all pairs.
Result<Strategy> direct(const Places& members, const std::vector<double>& proportions = {});
/// Each part goes once around, from the one after its root to it, and the value back.
Result<Strategy> ring(const Places& order);
/// Recursive halving, then doubling: binomial trees, each member of the core the root of as many
/// parts. The core are the first members, as many as the largest power of two that there are; each
/// of the others hangs on one of them, so the members with the best links come first.
Result<Strategy> halving_doubling(const Places& best_first);
/// `count` binary trees (1 to members), each over the members in another rotation of their order.
Result<Strategy> binary_trees(const Places& order, std::size_t count);
/// Sums of a group (the workers of a host, the hosts of a rack) leave it once. `among` is the
/// strategy among groups: its places are indices of `groups`. The members of a group take turns at
/// being the one that speaks for it, so the work is divided equally among them.
Result<Strategy> hierarchical(const std::vector<Places>& groups, const Strategy& among);
/// All send to one that does not contribute: a server.
Result<Strategy> one_server(const Places& members, Place server);

}  // namespace stretto::collective
