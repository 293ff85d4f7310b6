// SPDX-License-Identifier: Apache-2.0
// What a mode of training does, as data: a StepPlan lists actions in order, and Parameters, which
// holds the tensors, carries them out. There is one strategy for each mode. It only decides: it
// knows no tensor, no worker and no time, so each is tested by the plans that it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/tensor.h"

namespace stretto {

/// One action.
enum class StepAction : std::uint8_t {
  // With one tensor:
  kMakeUpdate,      ///< From its gradient, at the values; begins an own round.
  kMakeMeanUpdate,  ///< Likewise, from the received mean gradient.
  kPush,            ///< Sends the update.
  kPull,            ///< Requests values.
  kPushPull,        ///< Sends the update, and requests values that hold it.
  kAwaitPush,
  kAwaitPull,      ///< The info of the values becomes the step's.
  kAwaitPushPull,  ///< Likewise.
  kAddMissing,     ///< Adds own updates that the received values lack.
  kAddToIncoming,  ///< Adds this round's update to the received values.
  kAddToValues,    ///< Adds it to the values that the user computes with.
  kTake,           ///< The user computes with the received values next.
  // Once, for all of them:
  kExchangeGradients,  ///< Sends all gradients, and awaits their means.
  kJudge,              ///< Applies the rate rule to the gradient's staleness.
  kJudgeLate,          ///< Likewise, for values requested a step before use.
  kBarrier,            ///< With all workers.
};

constexpr bool is_once(StepAction action) { return action >= StepAction::kExchangeGradients; }

/// Done for one tensor, in order, then for the next tensor; or one action done once.
using StepStage = std::vector<StepAction>;
/// A stage begins when the one before has ended. The first failure ends the plan with its stage.
using StepPlan = std::vector<StepStage>;

/// What a strategy must know beyond its mode.
struct StepSetup {
  std::uint32_t workers = 1;
  std::uint64_t warm_up = 0;  ///< Eager modes: first steps that wait for their own updates.
  bool overlay = true;        ///< Eager modes: own updates are added at once.
  /// Modes without rounds: a step fetches the newest values before it makes its update.
  bool looks_ahead = false;
};

/// How one mode trains. `done` is the number of steps that were taken before. Thread: one at a
/// time.
class StepStrategy {
 public:
  explicit StepStrategy(const StepSetup& setup) : setup_(setup) {}
  virtual ~StepStrategy() = default;
  StepStrategy(const StepStrategy&) = delete;
  StepStrategy& operator=(const StepStrategy&) = delete;

  /// What servers do with pushes: kMean or kSum.
  virtual Rule server_rule() const { return Rule::kSum; }
  /// The factor of an update, whatever the rate rule says.
  virtual double share() const { return 1; }

  /// Follows the first values' arrival at all workers.
  virtual StepPlan begin() { return {}; }
  /// Fetches the newest values, before the gradients of a step are compensated with them.
  virtual StepPlan look_ahead(std::uint64_t done);
  virtual StepPlan step(std::uint64_t done) = 0;
  /// Afterwards all workers have the same values; the next step() is like the first.
  virtual StepPlan finish(std::uint64_t done) = 0;

 protected:
  const StepSetup& setup() const { return setup_; }
  bool warm(std::uint64_t done) const { return done >= setup_.warm_up; }

 private:
  StepSetup setup_;
};

std::unique_ptr<StepStrategy> step_strategy(Mode mode, const StepSetup& setup);

}  // namespace stretto
