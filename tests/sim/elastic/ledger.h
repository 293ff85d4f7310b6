// SPDX-License-Identifier: Apache-2.0
// Ledger: what has happened in an elastic job, by who did it, and what every value must be then:
// the oracle over contributor sets. Computed without any of the code under test.
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

  /// What a worker contributes: a number that nobody else has, and a one.
  static Numbers share_of(NodeId worker, const wire::Key& key, std::uint64_t round);

  /// A worker's first round; it will contribute from it on.
  void starts(NodeId worker, std::uint64_t round) { workers_[worker].first = round; }
  void begins(NodeId worker, std::uint64_t round) { workers_[worker].begun = round; }
  /// It does not have to be in what is made from now on, or in versions from this one on.
  void ends(NodeId worker, std::uint64_t from = 0) {
    History& history = workers_[worker];
    history.end = std::min(history.end, from);
  }

  /// A value is released, made by these.
  void released(const wire::Key& key, std::uint64_t version, const std::vector<NodeId>& from,
                const Numbers& numbers);
  /// A worker has got the answer to its share of a round.
  void answered(NodeId worker, const wire::Key& key, std::uint64_t round, std::uint64_t version,
                const Numbers& numbers);

  /// The first thing that did not hold.
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
