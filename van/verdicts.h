// SPDX-License-Identifier: Apache-2.0
// Verdicts: how a node's membership ends if the scheduler does not decide what a broken link means.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/roster.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop. Pure: it is told times.
class Verdicts {
 public:
  /// The link to that member broke; unless the scheduler says otherwise in this time the verdict
  /// holds.
  void add(NodeId node, Status verdict, Time now, Duration patience, bool stands_by = false) {
    verdicts_.push_back(
        {node, std::move(verdict), std::max(now + patience, not_before_), stands_by});
  }
  /// Links of those who have left broke because they had. Who stood by, and has a place now, is
  /// called again.
  void follow(const Roster& roster) {
    std::erase_if(verdicts_, [&roster](const Verdict& verdict) {
      const Member* member = roster.find(verdict.node);
      return member != nullptr && (member->left || (verdict.stands_by && !member->standby));
    });
  }
  /// A scheduler is there that has heard nothing of them: they wait anew, and so do those that come
  /// while it may not know who is there. Those that wait.
  std::vector<std::pair<NodeId, std::string>> renew(Time now, Duration patience) {
    not_before_ = now + patience;
    std::vector<std::pair<NodeId, std::string>> waiting;
    for (Verdict& verdict : verdicts_) {
      verdict.at = std::max(verdict.at, not_before_);
      waiting.emplace_back(verdict.node, verdict.status.cause());
    }
    return waiting;
  }
  /// The first that holds now; null: none.
  const Status* due(Time now) const {
    return now >= next_due() ? &verdicts_.front().status : nullptr;
  }
  Time next_due() const { return verdicts_.empty() ? Time::max() : verdicts_.front().at; }

 private:
  struct Verdict {
    NodeId node;
    Status status;
    Time at;
    bool stands_by = false;
  };
  Time not_before_ = {};
  std::vector<Verdict> verdicts_;  // In the order in which they were reported.
};

}  // namespace stretto
