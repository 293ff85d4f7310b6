// SPDX-License-Identifier: Apache-2.0
// StrategySelector: what this worker's links to other machines carry, and, at the worker that
// chooses, what everybody's do and which plan a tensor goes by next. The one that chooses is the
// first of the tensor's members.
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

  /// The trees of a plan. Tensors mostly go by few of them, which are kept.
  Result<collective::Strategy> strategy_for(const collective::StrategyPlan& plan,
                                            const Participants& members);
  /// There is a tensor whose plan is chosen; its members are all workers.
  void watch(const Participants& members);
  /// Looks at the links, and tells who chooses if they carry something else than it was told.
  void tick();
  /// What a worker's links carry.
  void note(NodeId node, double rate) { rates_[node] = rate; }
  /// At the worker that chooses: how the tensor goes from the next round on, for which all its
  /// parts wait. What is to be told to the others.
  control::TermPlan choose(TensorState& tensor, PeerTensor& known);
  /// At the others: what one of them was told. kMalformed, without effect, if that cannot be.
  Status take(TensorState& tensor, PeerTensor& known, NodeId from, const control::TermPlan& told);
  /// The parts that wait for the plan that has come last go on.
  void go_on(TensorState& tensor, PeerTensor& known) { rounds_.release(tensor, known); }
  /// What this worker has chosen.
  ChosenStrategies& chosen() { return chosen_; }

 private:
  /// A strategy that was made, and of what.
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
  std::vector<NodeId> elsewhere_;  // On other machines.
  RateEstimator watch_;
  Time looked_at_ = {};
  double told_ = 0;
  std::map<NodeId, double> rates_;
  ChosenStrategies chosen_;
};

}  // namespace stretto
