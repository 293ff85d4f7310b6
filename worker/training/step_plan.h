// SPDX-License-Identifier: Apache-2.0
// What a mode of training does, as data: a StepPlan says what happens in which order, and whoever
// holds the tensors carries it out (Parameters). There is one strategy for each mode. It decides
// only: it knows no tensor, no worker and no time, so each is tested by the plans that it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/tensor.h"

namespace stretto {

/// One thing to be done.
enum class StepAction : std::uint8_t {
  // With one tensor:
  kMakeUpdate,      ///< Of its gradient, at the values; a round of ours begins.
  kMakeMeanUpdate,  ///< The same of everybody's mean gradient, which has come.
  kPush,            ///< The update goes out.
  kPull,            ///< Values are asked for.
  kPushPull,        ///< The update goes out, and values that hold it are asked for.
  kAwaitPush,
  kAwaitPull,      ///< What is known of the values is the step's.
  kAwaitPushPull,  ///< Likewise.
  kAddMissing,     ///< To the values that came, those of our updates that they do not hold.
  kAddToIncoming,  ///< The update of this round, to the values that came,
  kAddToValues,    ///< or to those that the user computes with.
  kTake,           ///< What came is what the user computes with next.
  // Once, for all of them:
  kExchangeGradients,  ///< All gradients go out; their means are awaited.
  kJudge,              ///< How stale the gradient is, and what the rate rule makes of that.
  kJudgeLate,          ///< The same where the values were asked for a step before they are used.
  kBarrier,            ///< With all workers.
};

constexpr bool is_once(StepAction action) { return action >= StepAction::kExchangeGradients; }

/// Done for one tensor, one after the other, then for the next tensor; or one thing done once.
using StepStage = std::vector<StepAction>;
/// A stage begins when the one before has ended. The first failure ends the plan with its stage.
using StepPlan = std::vector<StepStage>;

/// What a strategy must know beyond its mode.
struct StepSetup {
  std::uint32_t workers = 1;
  std::uint64_t warm_up = 0;  ///< Eager modes: so many first steps wait for their own updates.
  bool overlay = true;        ///< Eager modes: our own updates are added at once.
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

  /// What servers do with what is pushed: kMean or kSum.
  virtual Rule server_rule() const { return Rule::kSum; }
  /// What an update is multiplied by, whatever the rate rule says.
  virtual double share() const { return 1; }

  /// After everybody has the first values.
  virtual StepPlan begin() { return {}; }
  /// Brings the newest values that can be had, before the gradients of a step are changed by them.
  virtual StepPlan look_ahead(std::uint64_t done);
  virtual StepPlan step(std::uint64_t done) = 0;
  /// After it everybody has the same values; the next step() is like the first.
  virtual StepPlan finish(std::uint64_t done) = 0;

 protected:
  const StepSetup& setup() const { return setup_; }
  bool warm(std::uint64_t done) const { return done >= setup_.warm_up; }

 private:
  StepSetup setup_;
};

std::unique_ptr<StepStrategy> step_strategy(Mode mode, const StepSetup& setup);

}  // namespace stretto
