// SPDX-License-Identifier: Apache-2.0
// BlockedCalls: the call in which each worker waits, by its heartbeats. A worker that waits without
// end learns which workers wait in another call. Pure: it makes no decision.
#pragma once

#include <map>
#include <set>
#include <string>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class BlockedCalls {
 public:
  /// The call this worker waits in, such as "push_pull 'x'"; empty without a long wait.
  void heard(Rank rank, const std::string& told);
  void left(Rank rank) { heard(rank, {}); }

  /// Describes workers that wait in other calls than this worker: "worker 1 waits in broadcast
  /// 'y'". Empty if there are none, or if this worker does not wait.
  std::string elsewhere(Rank rank) const;

 private:
  std::map<Rank, std::string> calls_;              // Of waiting workers.
  std::map<std::string, std::set<Rank>> waiters_;  // The same workers by call.
};

}  // namespace stretto
