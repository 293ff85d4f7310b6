// SPDX-License-Identifier: Apache-2.0
// Recovery: from which round on a part goes on that a lost server had, by what the workers that
// make its rounds know of it. A worker is at most one round behind another, for nobody begins a
// round before he has the value of the one before: so either all have the last value, or those who
// have it can give it to the others. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/aggregation/contributors.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// How far a worker is with a part: control::Recall.
struct RecoveryReport {
  std::uint64_t finished = 0;  ///< Rounds of its own that have ended.
  std::uint64_t round = 0;     ///< Whose value it has kept; 0: none.
  std::uint64_t version = 0;   ///< Of that value.
  bool owed = false;           ///< It waits for the end of the next one, and cannot send it again.
};

/// With what a part goes on.
struct RecoveryPoint {
  std::uint64_t finished = 0;  ///< Rounds.
  std::uint64_t version = 0;   ///< 0: no value has been made.
  NodeId holder = 0;           ///< Who has that value; 0: nobody needs to.
  Status why;                  ///< Or why it cannot go on.
};

/// Of all who make a part's rounds; `turn` spreads the values over those who have them.
RecoveryPoint resumption_of(const std::map<NodeId, RecoveryReport>& workers, std::uint32_t turn,
                            const Contributors& group);

}  // namespace stretto
