// SPDX-License-Identifier: Apache-2.0
// BlockedCalls: in which call each worker waits, as heartbeats tell, so that a worker that waits in
// vain is told of those that wait in another one. Pure: it makes no decision.
#pragma once

#include <map>
#include <set>
#include <string>

#include "stretto/types.h"

namespace stretto {

/// Thread: loop.
class BlockedCalls {
 public:
  /// What this worker waits in, such as "push_pull 'x'"; empty if it waits in nothing for long.
  void heard(Rank rank, const std::string& told);
  void left(Rank rank) { heard(rank, {}); }

  /// Where some are that wait in other calls than this worker, in words: "worker 1 waits in
  /// broadcast 'y'". Empty if there are none, or if it does not wait itself.
  std::string elsewhere(Rank rank) const;

 private:
  std::map<Rank, std::string> calls_;              // Of those that wait.
  std::map<std::string, std::set<Rank>> waiters_;  // The same by call.
};

}  // namespace stretto
