// SPDX-License-Identifier: Apache-2.0
// Verdicts: how a node's membership ends if the scheduler does not decide on a broken link.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/roster.h"
#include "stretto/status.h"

namespace stretto {

/// Thread: loop. Pure: it gets times as arguments.
class Verdicts {
 public:
  /// The link to that member broke: `verdict` applies unless the scheduler decides otherwise within
  /// `patience`.
  void add(NodeId node, Status verdict, Time now, Duration patience, bool stands_by = false) {
    verdicts_.push_back({node, std::move(verdict), now + patience, stands_by});
  }
  /// Drops verdicts of members that have left. A promoted standby gets new connections, so earlier
  /// verdicts about it are dropped, too.
  void follow(const Roster& roster) {
    std::erase_if(verdicts_, [&roster](const Verdict& verdict) {
      const Member* member = roster.find(verdict.node);
      return member != nullptr && (member->left || (verdict.stands_by && !member->standby));
    });
  }
  /// Reports for a scheduler that has not received them: each member, and why its link broke.
  std::vector<std::pair<NodeId, std::string>> pending() const {
    std::vector<std::pair<NodeId, std::string>> pending;
    for (const Verdict& verdict : verdicts_) {
      pending.emplace_back(verdict.node, verdict.status.cause());
    }
    return pending;
  }
  /// The first verdict to apply. Must not be empty.
  const Status& first() const { return verdicts_.front().status; }
  Time next_due() const { return verdicts_.empty() ? Time::max() : verdicts_.front().at; }

 private:
  struct Verdict {
    NodeId node;
    Status status;
    Time at;
    bool stands_by = false;
  };
  std::vector<Verdict> verdicts_;  // In order of report.
};

}  // namespace stretto
