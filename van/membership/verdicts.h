// SPDX-License-Identifier: Apache-2.0
// Verdicts: how a node's membership ends if the scheduler does not decide what a broken link means.
#pragma once

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
    verdicts_.push_back({node, std::move(verdict), now + patience, stands_by});
  }
  /// Links of those who have left broke because they had. Who stood by, and has a place now, is
  /// called again.
  void follow(const Roster& roster) {
    std::erase_if(verdicts_, [&roster](const Verdict& verdict) {
      const Member* member = roster.find(verdict.node);
      return member != nullptr && (member->left || (verdict.stands_by && !member->standby));
    });
  }
  /// For a scheduler that has heard nothing of them: each member, and why its link broke.
  std::vector<std::pair<NodeId, std::string>> pending() const {
    std::vector<std::pair<NodeId, std::string>> pending;
    for (const Verdict& verdict : verdicts_) {
      pending.emplace_back(verdict.node, verdict.status.cause());
    }
    return pending;
  }
  /// The first that will hold; there is one.
  const Status& first() const { return verdicts_.front().status; }
  Time next_due() const { return verdicts_.empty() ? Time::max() : verdicts_.front().at; }

 private:
  struct Verdict {
    NodeId node;
    Status status;
    Time at;
    bool stands_by = false;
  };
  std::vector<Verdict> verdicts_;  // In the order in which they were reported.
};

}  // namespace stretto
