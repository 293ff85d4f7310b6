// SPDX-License-Identifier: Apache-2.0
// RecoveryPoint: the round from which a failed server's part continues, from the reports of its
// contributors. A worker is at most one round behind another, because it needs the value of a round
// to begin the next. So either all workers have the last value, or workers with the last value can
// send it to the other workers. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/aggregation/contributors.h"
#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// A worker's progress on a part: control::Recall.
struct RecoveryReport {
  std::uint64_t finished = 0;  ///< Rounds whose end it has seen.
  std::uint64_t round = 0;     ///< Round of its retained value; 0: none.
  std::uint64_t version = 0;   ///< Of that value.
  bool owed = false;           ///< It waits for the next one's end, and cannot retransmit.
};

/// The state from which a part continues.
struct RecoveryPoint {
  std::uint64_t finished = 0;  ///< Rounds.
  std::uint64_t version = 0;   ///< 0: no value has been made.
  NodeId holder = 0;           ///< A worker with that value; 0: not needed.
  Status why;                  ///< Or the reason for the failure.
};

/// From the reports of all contributors; `turn` spreads requests for values over their holders.
RecoveryPoint resumption_of(const std::map<NodeId, RecoveryReport>& workers, std::uint32_t turn,
                            const Contributors& group);

}  // namespace stretto
