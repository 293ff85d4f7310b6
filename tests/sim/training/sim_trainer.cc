// SPDX-License-Identifier: Apache-2.0
// Each worker's gradients are ones in its own digits, so a value shows the updates of each worker.
// Means are over 1, 2 or 4 workers, so all numbers are exact.
#include "tests/sim/training/sim_trainer.h"

#include <fmt/format.h>

#include <cmath>

namespace stretto::sim {
namespace {

constexpr std::uint64_t kDigit = 64;
constexpr float kInitial = 0;

}  // namespace

SimTrainer::SimTrainer(const TrainingPlan& plan, Rank rank, WorkerNode& node, Random& random,
                       Report report)
    : plan_(plan),
      rank_(rank),
      node_(node),
      random_(random),
      report_(std::move(report)),
      strategy_(step_strategy(plan.mode, plan.setup)),
      until_(plan.steps) {
  node_.join([this](const Status& status) {
    if (!status.ok()) report_("no error without a cause", status.text());
    declare_all();
  });
}

void SimTrainer::declare_all() {
  stage_ = Stage::kDeclaring;
  operating_.resize(plan_.sizes.size());
  for (std::size_t i = 0; i < plan_.sizes.size(); ++i) {
    const std::vector<float> values(plan_.sizes[i], kInitial);
    model_.emplace_back(fmt::format("tensor{}", i), values, *Optimizer::make({}, values.size()));
    gradients_.emplace_back(plan_.sizes[i],
                            static_cast<float>(std::pow(kDigit, static_cast<double>(rank_))));
    TensorSpec spec{.name = model_[i].name(),
                    .dtype = Dtype::kF32,
                    .elements = plan_.sizes[i],
                    .options = {.mode = plan_.mode, .bound = plan_.bound}};
    spec.options.update.rule = strategy_->server_rule();
    node_.work().declare(spec, [this, i](const Result<Tensor>& tensor) {
      if (!tensor.ok()) return report_("no error without a cause", tensor.status().text());
      operating_[i].tensor = *tensor;
      operating_[i].push =
          start(rank_ == 0 ? Operation::Kind::kBroadcastRoot : Operation::Kind::kBroadcastReceiver,
                i, rank_ == 0 ? std::as_bytes(model_[i].values()) : std::span<const std::byte>(),
                std::as_writable_bytes(model_[i].values()));
    });
  }
}

std::shared_ptr<Operation> SimTrainer::start(Operation::Kind kind, std::size_t index,
                                             std::span<const std::byte> source,
                                             std::span<std::byte> target) {
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->tensor = operating_[index].tensor;
  operation->source = source;
  operation->target = target;
  operation->ticket = std::make_shared<detail::TicketState>(1);
  operation->ticket->on_done([this](const Status& status) {
    if (!status.ok()) report_("no error without a cause", status.text());
  });
  node_.work().start(operation);
  return operation;
}

bool SimTrainer::ended(const std::shared_ptr<Operation>& operation) {
  return operation == nullptr || operation->ticket->done();
}

void SimTrainer::act() {
  if (stage_ == Stage::kDeclaring) {
    for (const Operating& each : operating_) {
      if (each.push == nullptr || !each.push->ticket->done()) return;
    }
    stage_ = Stage::kTraining;
    now_ = strategy_->begin();
  }
  if (stage_ != Stage::kTraining) return;
  if (rank_ == plan_.slow && random_.chance(0.7)) return;
  while (stage_ == Stage::kTraining && perform_next()) {
  }
}

// Selects the next plan after the current one is complete.
void SimTrainer::plan_next() {
  if (doing_ == Doing::kStep) check_values(false);
  if (doing_ == Doing::kFinish) check_values(true);
  at_stage_ = 0;
  if (steps_ < until_) {
    doing_ = Doing::kStep;
    now_ = strategy_->step(steps_++);
  } else if (doing_ != Doing::kFinish) {
    doing_ = Doing::kFinish;
    now_ = strategy_->finish(steps_);
  } else if (until_ < plan_.steps + plan_.more_steps) {
    until_ = plan_.steps + plan_.more_steps;
    plan_next_step();
  } else {
    leave();
  }
}

void SimTrainer::plan_next_step() {
  doing_ = Doing::kStep;
  now_ = strategy_->step(steps_++);
}

void SimTrainer::leave() {
  // Operations that were never awaited must end before their memory is released.
  for (const Operating& each : operating_) {
    if (ended(each.pull) && ended(each.push)) continue;
    now_ = {{StepAction::kAwaitPush}, {StepAction::kAwaitPull}};
    return;
  }
  stage_ = Stage::kLeaving;
  node_.leave([this](const Status& status) {
    if (!status.ok()) report_("no error without a cause", status.text());
    left_ = true;
  });
}

// False if it has to wait.
bool SimTrainer::perform_next() {
  if (at_stage_ == now_.size()) {
    plan_next();
    return true;
  }
  const StepStage& stage = now_[at_stage_];
  if (is_once(stage.front())) {
    if (!perform(stage.front())) return false;
    ++at_stage_;
    return true;
  }
  if (!perform(stage[at_action_], at_tensor_)) return false;
  if (++at_action_ < stage.size()) return true;
  at_action_ = 0;
  if (++at_tensor_ < model_.size()) return true;
  at_tensor_ = 0;
  ++at_stage_;
  return true;
}

bool SimTrainer::perform(StepAction action) {
  if (action == StepAction::kBarrier) {
    if (!begun_) {
      begun_ = at_barrier_ = true;
      node_.work().barrier([this](const Status& status) {
        if (!status.ok()) report_("no error without a cause", status.text());
        at_barrier_ = false;
      });
    }
    if (at_barrier_) return false;
    begun_ = false;
  }
  if (action != StepAction::kExchangeGradients) return true;
  if (!begun_) {
    begun_ = true;
    for (std::size_t i = 0; i < model_.size(); ++i) {
      operating_[i].push =
          start(Operation::Kind::kPushPull, i, std::as_bytes(std::span(gradients_[i])),
                std::as_writable_bytes(model_[i].incoming()));
    }
  }
  for (const Operating& each : operating_) {
    if (!ended(each.push)) return false;
  }
  begun_ = false;
  return true;
}

bool SimTrainer::perform(StepAction action, std::size_t index) {
  ModelTensor& model = model_[index];
  Operating& operating = operating_[index];
  const auto incoming = std::as_writable_bytes(model.incoming());
  switch (action) {
    case StepAction::kMakeUpdate:
      model.make_update(gradients_[index], strategy_->share());
      return true;
    case StepAction::kMakeMeanUpdate:
      model.make_update(model.incoming(), 1);
      return true;
    case StepAction::kPush:
      operating.push = start(Operation::Kind::kPush, index, std::as_bytes(model.update()), {});
      return true;
    case StepAction::kPull:
      operating.pull = start(Operation::Kind::kPull, index, {}, incoming);
      return true;
    case StepAction::kPushPull:
      operating.push =
          start(Operation::Kind::kPushPull, index, std::as_bytes(model.update()), incoming);
      return true;
    case StepAction::kAwaitPush:
    case StepAction::kAwaitPushPull:
      return ended(operating.push);
    case StepAction::kAwaitPull:
      return ended(operating.pull);
    case StepAction::kAddMissing:
      model.add_missing(operating.pull->ticket->parts());
      return true;
    case StepAction::kAddToIncoming:
      model.add_to_incoming();
      return true;
    case StepAction::kAddToValues:
      model.add_to_values();
      return true;
    case StepAction::kTake:
      model.take();
      return true;
    default:
      return true;
  }
}

// ---- updates in the values

std::uint64_t SimTrainer::count_of(double value, Rank rank) const {
  const double scale = has_rounds(plan_.mode) ? plan_.workers : 1;
  const double count = value * scale;
  if (count < 0 || count != std::floor(count)) {
    report_("values equal the oracle", fmt::format("worker {}: {} is no count", rank_, value));
    return 0;
  }
  auto digits = static_cast<std::uint64_t>(count);
  for (Rank below = 0; below < rank; ++below) digits /= kDigit;
  return digits % kDigit;
}

void SimTrainer::check_values(bool finished) {
  const Mode mode = plan_.mode;
  const bool late = is_eager(mode) && steps_ > plan_.setup.warm_up;
  for (const ModelTensor& tensor : model_) {
    for (const float value : tensor.values()) {
      for (Rank rank = 0; rank < plan_.workers; ++rank) {
        const std::uint64_t count = count_of(value, rank);
        const bool own = rank == rank_;
        const bool at_once = own && (!late || plan_.setup.overlay);
        std::uint64_t least = mode == Mode::kSync || at_once || finished ? steps_ : 0;
        if (mode == Mode::kEager) least = std::max(least, steps_ - (late ? 1 : 0));
        if (mode == Mode::kBounded && steps_ > plan_.bound) {
          least = std::max(least, steps_ - plan_.bound);
        }
        if (own && late && steps_ > 2) least = std::max(least, steps_ - 2);
        const bool ahead = !has_rounds(mode) && !own && !finished;
        const std::uint64_t most = ahead ? plan_.steps + plan_.more_steps : steps_;
        if (count >= least && count <= most) continue;
        const bool behind = mode == Mode::kBounded && !own && !finished && count < least;
        report_(behind ? "the bound holds" : "values equal the oracle",
                fmt::format("worker {} after {} steps{}: {} updates of worker {} are in {}, wanted "
                            "{} to {}",
                            rank_, steps_, finished ? " and finish" : "", count, rank,
                            tensor.name(), least, most));
        return;
      }
    }
  }
}

std::string SimTrainer::describe() const {
  return fmt::format("worker {} has taken {} steps of {}, and is at stage {} of {}", rank_, steps_,
                     until_, at_stage_, now_.size());
}

}  // namespace stretto::sim
