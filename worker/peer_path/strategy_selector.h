// SPDX-License-Identifier: Apache-2.0
// StrategySelector: measures the rate of this worker's links to other machines. At the worker that
// chooses, the first of a tensor's members, it collects all rates and selects the tensor's next
// plan.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "collective/strategy_chooser.h"
#include "van/engine/van.h"
#include "worker/peer_path/allreduce_rounds.h"
#include "worker/peer_path/chosen_strategies.h"
#include "worker/peer_state/peer_tensor.h"
#include "worker/peers/peer_links.h"
#include "worker/peers/rate_estimator.h"

namespace stretto {

/// Thread: loop.
class StrategySelector {
 public:
  /// collective::choose().
  using Choose = std::function<collective::StrategyChoice(
      const collective::Topology&, std::uint64_t bytes, std::uint64_t part_bytes,
      const std::optional<collective::StrategyPlan>& current)>;

  /// All outlive this.
  StrategySelector(Van& van, PeerLinks& peers, AllReduceRounds& rounds)
      : van_(van), peers_(peers), rounds_(rounds) {}
  /// Before there are tensors; in tests.
  void set_choose(Choose choose) { choose_ = std::move(choose); }

  /// The trees of a plan. Tensors use few plans, whose trees are kept.
  Result<collective::Strategy> strategy_for(const collective::StrategyPlan& plan,
                                            const Participants& members);
  /// Starts measuring for a tensor whose plan is chosen; its members are all workers.
  void watch(const Participants& members);
  /// Measures the links, and tells the worker that chooses if their rate has changed.
  void tick();
  /// The rate of a worker's links.
  void note(NodeId node, double rate) { rates_[node] = rate; }
  /// At the worker that chooses: selects the plan from the next round on, for which all parts wait.
  /// Returns the message to the other workers.
  control::TermPlan choose(TensorState& tensor, PeerTensor& known);
  /// At the other workers: applies the chosen plan. kMalformed, without effect, if it is invalid.
  Status take(TensorState& tensor, PeerTensor& known, NodeId from, const control::TermPlan& told);
  /// The parts that wait for the last plan continue.
  void go_on(TensorState& tensor, PeerTensor& known) { rounds_.release(tensor, known); }
  /// What this worker has chosen.
  ChosenStrategies& chosen() { return chosen_; }

 private:
  /// A strategy, and the plan and machines that it was made from.
  struct Made {
    collective::StrategyPlan plan;
    std::vector<std::uint32_t> machines;
    collective::Strategy strategy;
  };
  Status decide(PeerTensor& known, std::uint64_t round, const collective::StrategyPlan& plan);
  std::vector<double> machine_rates() const;

  Van& van_;
  PeerLinks& peers_;
  AllReduceRounds& rounds_;
  std::vector<Made> strategies_;
  Choose choose_ = collective::choose;
  Participants members_;
  std::vector<NodeId> elsewhere_;  // Workers on other machines.
  RateEstimator watch_;
  Time looked_at_ = {};
  double told_ = 0;
  std::map<NodeId, double> rates_;
  ChosenStrategies chosen_;
};

}  // namespace stretto
