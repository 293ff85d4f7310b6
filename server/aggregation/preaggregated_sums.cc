// SPDX-License-Identifier: Apache-2.0
// A sum is a set of contributors: no duplicates, and none can be removed.
#include "server/aggregation/preaggregated_sums.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace stretto {

Status PreaggregatedSums::check_gone(const Contributors& before, const Contributors& next) const {
  for (const std::vector<NodeId>& makers : makers_) {
    const auto stays = [&next](NodeId maker) { return next.contains(maker); };
    const auto gone = std::ranges::find_if_not(makers, stays);
    if (gone == makers.end() || std::ranges::none_of(makers, stays)) continue;
    return {Code::kPeerLost,
            fmt::format("the open round has a sum of {} workers' contributions, of "
                        "which {} is gone",
                        makers.size(), name_in(before, *gone))};
  }
  return {};
}

Status check_sum(const Consistency& rounds, Mode mode, const Share& sum,
                 const std::vector<NodeId>& makers) {
  if (sum.assign || makers.empty() || !has_rounds(mode)) {
    return {Code::kMalformed, fmt::format("a sum of {} workers came, which only rounds of sync and "
                                          "eager take",
                                          makers.size())};
  }
  std::set<NodeId> once;
  for (const NodeId maker : makers) {
    if (!once.insert(maker).second) {
      return {Code::kMalformed, fmt::format("a sum came that has the contribution of {} twice",
                                            name_in(*rounds.group(), maker))};
    }
    Status status = rounds.admit(maker, sum.round, false);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace stretto
