// SPDX-License-Identifier: Apache-2.0
// Weights: how much of the parts each member of `direct` should own, where links differ or a member
// is usually late. On a network that is limited by each member's link no all-reduce whose sums are
// made by members is faster than T* = n * max(1 / b_min, 2 (P - 1) / sum of b), for n bytes and P
// members with rates b; with these weights `direct` takes no longer. (The bound is derived in
// docs/COLLECTIVES.md; OptCC, arXiv 2606.01680, states it for one member at half rate.)
#pragma once

#include <vector>

namespace stretto::collective {

/// A member, as its link has it.
struct MemberRate {
  double rate = 0;  ///< Bytes per second, in and out at once. Above 0.
  double late = 0;  ///< Seconds after the first that its contribution usually comes.
};

/// T*: seconds of a round of so many bytes from its first contribution on. 0 for one member.
/// With late members it is what `direct` reaches with shares_of(), and no bound.
double least_seconds(double bytes, const std::vector<MemberRate>& members);

/// Each member's proportion of the parts; their sum is 1.
/// Who is later, or has a slower link, owns less, down to nothing.
std::vector<double> shares_of(double bytes, const std::vector<MemberRate>& members);

}  // namespace stretto::collective
