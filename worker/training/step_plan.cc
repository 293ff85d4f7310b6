// SPDX-License-Identifier: Apache-2.0
// The five modes, each as the plans of its steps.
#include "worker/training/step_plan.h"

#include <utility>

namespace stretto {
namespace {

using enum StepAction;

void append(StepPlan& plan, const StepPlan& more) {
  plan.insert(plan.end(), more.begin(), more.end());
}

StepPlan newest_values() { return {{kPull}, {kAwaitPull}}; }

// Sends the update; the step ends when values that hold it are here.
StepPlan waiting_exchange() { return {{kPushPull}, {kAwaitPushPull}, {kTake}}; }

// Awaits what is in flight, so that the values requested afterwards lack no update. If only
// barriers keep the workers in step, all must reach the first before that, and the second before
// any of them pushes again.
StepPlan last_values(bool only_barriers) {
  StepPlan plan = {{kAwaitPush}, {kAwaitPull}};
  if (only_barriers) plan.push_back({kBarrier});
  append(plan, newest_values());
  if (only_barriers) plan.push_back({kBarrier});
  plan.push_back({kTake});
  return plan;
}

// The plan of a step in a mode without rounds. The step ends after values that include the step's
// update have arrived.
StepPlan waiting_step(bool looks_ahead) {
  StepPlan plan;
  if (looks_ahead) plan = newest_values();
  append(plan, {{kJudge}, {kMakeUpdate}});
  append(plan, waiting_exchange());
  return plan;
}

/// Each worker updates its own copy by the mean gradient. So the copies stay identical, and any
/// optimizer does what it would do with one worker and a larger batch.
class SyncStrategy final : public StepStrategy {
 public:
  using StepStrategy::StepStrategy;
  Rule server_rule() const override { return Rule::kMean; }
  StepPlan step(std::uint64_t /*done*/) override {
    return {{kExchangeGradients}, {kMakeMeanUpdate, kAddToValues}};
  }
  StepPlan finish(std::uint64_t /*done*/) override { return {}; }
};

/// Bounded and async, which differ only in how long the servers let a push_pull wait.
class WaitingStrategy final : public StepStrategy {
 public:
  using StepStrategy::StepStrategy;
  StepPlan step(std::uint64_t /*done*/) override { return waiting_step(setup().looks_ahead); }
  StepPlan finish(std::uint64_t /*done*/) override { return last_values(true); }
};

/// One round of delay: the values for the next step are those of the previous round, which has been
/// in flight while the gradient was computed.
class EagerStrategy final : public StepStrategy {
 public:
  using StepStrategy::StepStrategy;
  double share() const override { return 1.0 / setup().workers; }
  StepPlan step(std::uint64_t done) override {
    StepPlan plan = {{kMakeUpdate}};
    if (!warm(done)) {
      append(plan, waiting_exchange());
      return plan;
    }
    StepStage exchange;
    if (std::exchange(in_flight_, true)) {
      plan.push_back({kAwaitPushPull});
      exchange.push_back(kTake);
    }
    if (setup().overlay) exchange.push_back(kAddToValues);
    exchange.push_back(kPushPull);
    plan.push_back(exchange);
    return plan;
  }
  StepPlan finish(std::uint64_t /*done*/) override {
    in_flight_ = false;
    return last_values(false);
  }

 private:
  bool in_flight_ = false;  // The previous round.
};

/// The values for the next step are requested when this one begins, in their current state: before
/// the update is sent, so that no own frame delays them.
class EagerAsyncStrategy final : public StepStrategy {
 public:
  using StepStrategy::StepStrategy;
  StepPlan begin() override { return warm(0) ? StepPlan{{kPull}} : StepPlan{}; }
  // Values of a warm step are in flight, or here, already.
  StepPlan look_ahead(std::uint64_t done) override {
    if (!warm(done)) return StepStrategy::look_ahead(done);
    StepPlan plan = {{kAwaitPull}};
    add_missing(plan);
    return plan;
  }
  StepPlan step(std::uint64_t done) override {
    if (!warm(done)) {
      StepPlan plan = waiting_step(setup().looks_ahead);
      if (warm(done + 1)) plan.push_back({kPull});
      return plan;
    }
    StepPlan plan = {{kAwaitPull}, {kAwaitPush}, {kJudgeLate}};  // At most one push in flight.
    add_missing(plan);
    has_added_ = false;
    plan.push_back(setup().overlay ? StepStage{kMakeUpdate, kAddToIncoming, kTake}
                                   : StepStage{kMakeUpdate, kTake});
    append(plan, {{kPull}, {kPush}});
    return plan;
  }
  StepPlan finish(std::uint64_t done) override {
    has_added_ = false;
    StepPlan plan = last_values(true);
    if (warm(done)) plan.push_back({kPull});
    return plan;
  }

 private:
  // Once for the values of a step.
  void add_missing(StepPlan& plan) {
    if (setup().overlay && !std::exchange(has_added_, true)) plan.push_back({kAddMissing});
  }

  bool has_added_ = false;
};

}  // namespace

StepPlan StepStrategy::look_ahead(std::uint64_t /*done*/) { return newest_values(); }

std::unique_ptr<StepStrategy> step_strategy(Mode mode, const StepSetup& setup) {
  switch (mode) {
    case Mode::kSync:
      return std::make_unique<SyncStrategy>(setup);
    case Mode::kBounded:
    case Mode::kAsync:
      return std::make_unique<WaitingStrategy>(setup);
    case Mode::kEager:
      return std::make_unique<EagerStrategy>(setup);
    case Mode::kEagerAsync:
      return std::make_unique<EagerAsyncStrategy>(setup);
  }
  return nullptr;
}

}  // namespace stretto
