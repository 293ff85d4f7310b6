// SPDX-License-Identifier: Apache-2.0
// SimTrainer: the user of a simulated worker that trains a model in one of the modes. It runs
// production's plans (StepStrategy) on production's tensors (ModelTensor) as Parameters does, but
// never blocks. After every step it checks which updates its values hold.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/random.h"
#include "worker/node.h"
#include "worker/training/model_tensor.h"
#include "worker/training/step_plan.h"

namespace stretto::sim {

struct TrainingPlan {
  Mode mode = Mode::kSync;
  std::uint32_t bound = 0;
  std::uint32_t workers = 1;
  StepSetup setup;
  std::vector<std::size_t> sizes;  ///< Of the model's tensors.
  std::uint64_t steps = 1;         ///< Before finish(),
  std::uint64_t more_steps = 0;    ///< and as many again, and finish() again.
  Rank slow = 0;                   ///< The worker that computes longer.
};

/// Thread: the simulation's.
class SimTrainer {
 public:
  using Report = std::function<void(const std::string& invariant, const std::string& text)>;

  SimTrainer(const TrainingPlan& plan, Rank rank, WorkerNode& node, Random& random, Report report);

  /// Advances as far as possible. Call after each step of the node.
  void act();
  bool finished() const { return left_; }
  std::string describe() const;

 private:
  struct Operating {
    Tensor tensor;
    std::shared_ptr<Operation> pull;
    std::shared_ptr<Operation> push;
  };
  enum class Stage { kJoining, kDeclaring, kBroadcasting, kTraining, kLeaving };

  void declare_all();
  void plan_next();
  void plan_next_step();
  void leave();
  bool perform_next();
  bool perform(StepAction action);
  bool perform(StepAction action, std::size_t index);
  std::shared_ptr<Operation> start(Operation::Kind kind, std::size_t index,
                                   std::span<const std::byte> source, std::span<std::byte> target);
  bool ended(const std::shared_ptr<Operation>& operation);
  void check_values(bool finished);
  std::uint64_t count_of(double value, Rank rank) const;

  const TrainingPlan& plan_;
  Rank rank_;
  WorkerNode& node_;
  Random& random_;
  Report report_;
  Stage stage_ = Stage::kJoining;
  std::unique_ptr<StepStrategy> strategy_;
  std::vector<ModelTensor> model_;
  std::vector<Operating> operating_;
  std::vector<std::vector<float>> gradients_;
  StepPlan now_;  // The current plan, from this action on:
  std::size_t at_stage_ = 0;
  std::size_t at_tensor_ = 0;
  std::size_t at_action_ = 0;
  bool begun_ = false;  // The action has begun and is awaited.
  enum class Doing { kBegin, kStep, kFinish } doing_ = Doing::kBegin;
  std::uint64_t steps_ = 0;
  std::uint64_t until_;
  bool at_barrier_ = false;
  bool left_ = false;
};

}  // namespace stretto::sim
