// SPDX-License-Identifier: Apache-2.0
// Chooser: selects the strategy for a tensor from its members' machines and their link rates. It
// compares CostModel's predictions for all candidates; the same links give the same choice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/cost_model.h"
#include "collective/strategy.h"

namespace stretto::collective {

/// A strategy over members 0, 1, ... in compact form, for transmission to other members.
struct StrategyPlan {
  friend bool operator==(const StrategyPlan&, const StrategyPlan&) = default;
  /// Any but kServers.
  Primitive primitive = Primitive::kDirect;
  /// The number of parts rooted at each member (kDirect) or machine (kHierarchical), in proportion;
  /// at most kMostWeight each. Empty: equal.
  std::vector<std::uint32_t> weights = {};

  /// "ring", "direct, weights 4 4 4 1".
  std::string describe() const;
};

/// Builds the strategy. `machines`: the machine of each member, numbered from 0 in the order of
/// their first members. kInvalidArgument for weights whose number does not match the members
/// (machines), that are too large, all 0, or not allowed here; and for the errors of strategies.h.
Result<Strategy> strategy_of(const StrategyPlan& plan, const std::vector<std::uint32_t>& machines);

/// The known machines and link rates of members.
struct Topology {
  std::vector<std::uint32_t> machines;  ///< As above.
  /// Link rate of each machine, bytes per second each way; 0: unknown. If none is known, all count
  /// as equal; otherwise an unknown one counts as the median of the rest.
  std::vector<double> rates;
};

struct StrategyChoice {
  StrategyPlan plan;
  Prediction predicted;
  /// "direct, 12.000 ms: link ...; ring 14.1 ms, tree ...": the choice and its alternatives.
  std::string why;
};

/// For rounds of `bytes`, above 0, in parts of at most `part_bytes`. `current` is kept unless
/// another is predicted to take less than nine tenths of its time. Rates within a tenth of each
/// other count as equal: measurements are inexact. There must be a member.
StrategyChoice choose(const Topology& links, std::uint64_t bytes, std::uint64_t part_bytes,
                      const std::optional<StrategyPlan>& current = {});

/// The time of a round over server shards, each of which adds up an equal number of parts. Workers'
/// and shards' machines are numbered together; links are equal.
Prediction predict_servers(const std::vector<std::uint32_t>& workers,
                           const std::vector<std::uint32_t>& shards, std::uint64_t bytes,
                           std::uint64_t part_bytes);

}  // namespace stretto::collective
