// SPDX-License-Identifier: Apache-2.0
// Ledger: the events of an elastic job by member, and the values that must follow: the oracle over
// contributor sets. Computed without any of the code under test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/sim_cluster.h"
#include "van/wire/header.h"

namespace stretto::sim {

/// Thread: the simulation's.
class Ledger {
 public:
  using Numbers = std::vector<double>;

  /// A worker's contribution: a number distinct from all others, and a one.
  static Numbers share_of(NodeId worker, const wire::Key& key, std::uint64_t round);

  /// The worker's first round: it contributes from this round on.
  void starts(NodeId worker, std::uint64_t round) { workers_[worker].first = round; }
  void begins(NodeId worker, std::uint64_t round) { workers_[worker].begun = round; }
  /// The worker may be missing from values made from now on, or from versions `from` and later.
  void ends(NodeId worker, std::uint64_t from = 0) {
    History& history = workers_[worker];
    history.end = std::min(history.end, from);
  }

  /// A value made by these contributors is released.
  void released(const wire::Key& key, std::uint64_t version, const std::vector<NodeId>& from,
                const Numbers& numbers);
  /// A worker received the answer to its contribution to a round.
  void answered(NodeId worker, const wire::Key& key, std::uint64_t round, std::uint64_t version,
                const Numbers& numbers);

  /// The first violation.
  const std::optional<Violation>& violation() const { return violation_; }
  void report(const std::string& invariant, const std::string& text) {
    if (!violation_) violation_ = Violation{invariant, text};
  }

 private:
  struct History {
    std::uint64_t first = 0;
    std::uint64_t begun = 0;
    std::uint64_t end = ~std::uint64_t{0};
  };
  struct Made {
    std::set<NodeId> from;
    Numbers numbers;
  };

  std::map<NodeId, History> workers_;
  std::map<wire::Key, std::map<std::uint64_t, Made>> values_;  // By version.
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
