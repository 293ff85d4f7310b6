// SPDX-License-Identifier: Apache-2.0
// Weights: the fraction of the parts that each member of `direct` should own, where links differ or
// a member is usually late. An all-reduce of n bytes with P members, which make the sums and whose
// links of rates b are the limit, takes at least T* = n * max(1 / b_min, 2 (P - 1) / sum of b).
// With these weights `direct` reaches T*. (The bound is derived in docs/COLLECTIVES.md; OptCC,
// arXiv 2606.01680, states it for one member at half rate.)
#pragma once

#include <vector>

namespace stretto::collective {

/// A member's link rate and usual lateness.
struct MemberRate {
  double rate = 0;  ///< Bytes per second, in each direction at once. Above 0.
  double late = 0;  ///< Usual delay of its contribution after the first, in seconds.
};

/// T*: seconds of a round of `bytes` from its first contribution on. 0 for one member. With late
/// members it is the time of `direct` with shares_of(), not a bound.
double least_seconds(double bytes, const std::vector<MemberRate>& members);

/// Each member's fraction of the parts; the sum is 1. Later members and those with slower links own
/// less, down to nothing.
std::vector<double> shares_of(double bytes, const std::vector<MemberRate>& members);

}  // namespace stretto::collective
