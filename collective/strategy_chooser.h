// SPDX-License-Identifier: Apache-2.0
// Chooser: which strategy a tensor should be reduced by, from where its members are and what their
// links carry. It compares what CostModel predicts for each that there is; the same links
// give the same choice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/cost_model.h"
#include "collective/strategy.h"

namespace stretto::collective {

/// A strategy over members 0, 1, ... as few numbers, so that others can be told which one.
struct StrategyPlan {
  friend bool operator==(const StrategyPlan&, const StrategyPlan&) = default;
  /// All but kServers.
  Primitive primitive = Primitive::kDirect;
  /// How many of the parts each member roots (kDirect), or each machine (kHierarchical), in
  /// proportion; at most kMostWeight each. Empty: equally many.
  std::vector<std::uint32_t> weights = {};

  /// "ring", "direct, weights 4 4 4 1".
  std::string describe() const;
};

/// The strategy. `machines`: on which one each member is, numbered from 0 in the order of their
/// first members. kInvalidArgument for weights that are not as many as there are members
/// (machines), too large, or all 0, and where there must be none; and for what strategies.h
/// refuses.
Result<Strategy> strategy_of(const StrategyPlan& plan, const std::vector<std::uint32_t>& machines);

/// What is known of members and of their links.
struct Topology {
  std::vector<std::uint32_t> machines;  ///< As above.
  /// Of the link of each machine, bytes per second each way; 0: not known. Where none is known all
  /// are taken for alike; a machine of which nothing is known, for one like the median of the rest.
  std::vector<double> rates;
};

struct StrategyChoice {
  StrategyPlan plan;
  Prediction predicted;
  /// "direct, 12.000 ms: link ...; ring 14.1 ms, tree ...": the choice, and what else there was.
  std::string why;
};

/// For rounds of so many bytes, above 0, in parts of at most `part_bytes`. What is `current` stays
/// unless another one is predicted to take less than nine tenths of its time, and equal rates are
/// those within a tenth of each other: what was measured is not exact. There is a member.
StrategyChoice choose(const Topology& links, std::uint64_t bytes, std::uint64_t part_bytes,
                      const std::optional<StrategyPlan>& current = {});

/// How long a round takes by shards of servers, each of which adds up as many of the parts.
/// Machines of workers and of shards are numbered together; links are alike.
Prediction predict_servers(const std::vector<std::uint32_t>& workers,
                           const std::vector<std::uint32_t>& shards, std::uint64_t bytes,
                           std::uint64_t part_bytes);

}  // namespace stretto::collective
