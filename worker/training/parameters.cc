// SPDX-License-Identifier: Apache-2.0
// One training loop for every mode: a StepStrategy plans each step, and this code carries out the
// plans with a model's tensors and a worker.
#include "stretto/parameters.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

#include "common/log.h"
#include "stretto/checkpoints.h"
#include "worker/training/damping.h"
#include "worker/training/model_tensor.h"
#include "worker/training/step_plan.h"
#include "worker/training/step_waits.h"
#include "worker/training/tensor_restore.h"

namespace stretto {
namespace {

// A mean of the others' gradients is valid, too. Other modes would add this worker's own here.
Status unless_rejected(const Status& status, Mode mode) {
  return mode == Mode::kSync && is_rejected(status) ? Status() : status;
}

/// The operations in flight of one tensor.
struct InFlight {
  Tensor tensor;
  Ticket pull;
  Ticket push;
};

bool has_own_optimizer(const ParameterOptions& options) {
  return options.optimizer.rule != Rule::kSum;
}

}  // namespace

/// Thread: one at a time.
class Parameters::Impl {
 public:
  Impl(Worker& worker, const ParameterOptions& options);

  /// Each operation in flight keeps `impl`, whose memory it uses, until the operation has ended.
  static void let_go(const std::shared_ptr<Impl>& impl);
  /// Makes a call, unless another one is in progress.
  template <typename Call>
  Status alone(Call call);

  Status add_tensor(const InitialValues& initial);
  Status take_those_of_the_first();
  Status take_those_of_the_servers();
  Status begin();
  Status compensate(std::span<const std::span<float>> gradients);
  Status step(std::span<const std::span<const float>> gradients);
  Status finish();
  std::vector<Attachment> attachments();

  const std::vector<ModelTensor>& model() const { return model_; }
  std::vector<ModelTensor>& model() { return model_; }
  const StepInfo& info() const { return info_; }

 private:
  using Gradients = std::span<const std::span<const float>>;

  Status check(std::size_t tensor, std::size_t elements) const;
  Status check(Gradients gradients) const;
  Status perform(const StepPlan& plan, Gradients gradients = {});
  Status perform(StepAction action, Gradients gradients);
  Status perform(StepAction action, std::size_t tensor, Gradients gradients);
  Status exchange(Gradients gradients);
  Result<bool> go_on();
  Status judge(bool late);
  Status note(std::size_t tensor, const Ticket& ticket);
  std::span<const float> compensated(std::size_t tensor, std::span<const float> gradient);

  Worker& worker_;
  ParameterOptions options_;
  Damping damping_;
  std::unique_ptr<StepStrategy> strategy_;
  std::vector<ModelTensor> model_;
  std::vector<InFlight> in_flight_;                 // One for each tensor of the model.
  std::size_t largest_ = 0;                         // The tensor whose staleness counts.
  std::vector<std::vector<std::byte>> remembered_;  // By optimizers, as attached last.
  std::vector<float> compensated_;
  bool has_compensated_ = false;  // For the next step; the caller's optimizer.
  StepWaits waits_;
  StepInfo info_;
  Status failed_;
  std::atomic<bool> is_called_{false};
};

// ---- beginning

Parameters::Impl::Impl(Worker& worker, const ParameterOptions& options)
    : worker_(worker),
      options_(options),
      damping_(options.rate_rule, worker.size(), has_rounds(options.mode)),
      strategy_(step_strategy(
          options.mode, {.workers = worker.size(),
                         .warm_up = options.warm_up,
                         .overlay = options.overlay,
                         .looks_ahead = damping_.compensates() && has_own_optimizer(options)})) {}

void Parameters::Impl::let_go(const std::shared_ptr<Impl>& impl) {
  const auto keep = [&impl](const Ticket& each) { each.on_done([impl](const Status&) {}); };
  keep(impl->damping_.in_flight());
  for (const InFlight& each : impl->in_flight_) {
    keep(each.pull);
    keep(each.push);
  }
}

// A signal handler runs in the middle of a wait of this thread, and may call this object.
template <typename Call>
Status Parameters::Impl::alone(Call call) {
  if (is_called_.exchange(true)) {
    return {Code::kInvalidArgument,
            "another call of these parameters waits; set a flag in the handler of a signal, and "
            "look at it after the step"};
  }
  Status status = call();
  is_called_ = false;
  return status;
}

Status Parameters::Impl::add_tensor(const InitialValues& initial) {
  if (strategy_ == nullptr) return {Code::kInvalidArgument, "this mode is not known"};
  Result<Optimizer> optimizer = Optimizer::make(options_.optimizer, initial.values.size());
  if (!optimizer.ok()) return optimizer.status();
  const TensorOptions options{.mode = options_.mode,
                              .bound = options_.mode == Mode::kBounded ? options_.bound : 0,
                              .update = {.rule = strategy_->server_rule()},
                              .deterministic = options_.deterministic,
                              .bulk = true};
  Result<Tensor> tensor =
      worker_.declare(initial.name, Dtype::kF32, initial.values.size(), options);
  if (!tensor.ok()) return tensor.status();
  model_.emplace_back(initial.name, initial.values, *std::move(optimizer));
  in_flight_.push_back({.tensor = *tensor, .pull = {}, .push = {}});
  if (initial.values.size() > model_[largest_].size()) largest_ = model_.size() - 1;
  return {};
}

// Repeated for all tensors if the first worker is lost meanwhile: they belong together.
Status Parameters::Impl::take_those_of_the_first() {
  for (;;) {
    for (std::size_t i = 0; i < model_.size(); ++i) {
      in_flight_[i].push = worker_.broadcast(in_flight_[i].tensor, model_[i].values(), 0);
    }
    Status status = perform({{StepAction::kAwaitPush}});
    if (status.code() != Code::kMembersChanged) return status;
  }
}

Status Parameters::Impl::take_those_of_the_servers() {
  if (options_.mode == Mode::kSync) return {};
  for (ModelTensor& tensor : model_) tensor.come_late();
  return perform({{StepAction::kPull}, {StepAction::kAwaitPull}, {StepAction::kTake}});
}

Status Parameters::Impl::begin() {
  Result<bool> goes_on = options_.late ? false : go_on();
  if (!goes_on.ok()) return goes_on.status();
  Status taken =
      options_.late || *goes_on ? take_those_of_the_servers() : take_those_of_the_first();
  if (!taken.ok()) return taken;
  if (options_.mode == Mode::kBounded) {
    // Workers may have their tensors in different orders.
    const auto first = std::ranges::min_element(model_, {}, &ModelTensor::name);
    Status status = damping_.measure(worker_, first->name() + "/staleness");
    if (!status.ok()) return status;
  }
  return perform(strategy_->begin());
}

// ---- checkpoints

std::vector<Attachment> Parameters::Impl::attachments() {
  const bool holds_values = options_.mode == Mode::kSync;
  const Held held = holds_values ? Held::kAlike : Held::kByEach;
  std::vector<Attachment> all;
  remembered_.clear();
  remembered_.reserve(model_.size());
  for (ModelTensor& tensor : model_) {
    if (holds_values) {
      all.push_back({.name = tensor.name(),
                     .bytes = std::as_bytes(std::span(tensor.values())),
                     .held = held,
                     .dtype = Dtype::kF32});
    }
    remembered_.push_back(tensor.optimizer().save());
    if (remembered_.back().empty()) continue;
    all.push_back(
        {.name = tensor.name() + kOptimizerSuffix, .bytes = remembered_.back(), .held = held});
  }
  return all;
}

// True if the checkpoint has this model; otherwise training starts afresh, with a warning.
Result<bool> Parameters::Impl::go_on() {
  const Checkpoints checkpoints(worker_);
  const std::uint64_t number = checkpoints.restored().number;
  if (number == 0) return false;
  const Result<std::vector<Attached>> saved = checkpoints.attached();
  if (!saved.ok()) return saved.status();
  std::string lacks;
  std::size_t lacking = 0;
  for (std::size_t i = 0; i < model_.size(); ++i) {
    const bool is_there = options_.mode == Mode::kSync
                              ? find_attached(*saved, model_[i].name(), worker_.rank()) != nullptr
                              : in_flight_[i].tensor.restored;
    if (is_there) continue;
    ++lacking;
    lacks = model_[i].name();
  }
  // The caller may have restored the values that the caller's own optimizer works on.
  if (lacking == model_.size() && !has_own_optimizer(options_)) {
    log(Level::kWarning,
        "checkpoint {} has no values of '{}' and so on: they begin with those that they are given",
        number, lacks);
    return false;
  }
  if (lacking > 0) {
    return Status(Code::kMismatch,
                  fmt::format("checkpoint {} has {} of the model's {} tensors, and lacks '{}': it "
                              "is of another model or mode, or Checkpoints::save() was not given "
                              "what Parameters::attachments() returns; begin anew (--resume no)",
                              number, model_.size() - lacking, model_.size(), lacks));
  }
  for (ModelTensor& tensor : model_) {
    Status status =
        restore(checkpoints, *saved, options_.mode == Mode::kSync, worker_.rank(), tensor);
    if (!status.ok()) return status;
  }
  return true;
}

// ---- a step

Status Parameters::Impl::check(Gradients gradients) const {
  if (gradients.size() != model_.size()) {
    return {Code::kInvalidArgument,
            fmt::format("{} gradients were given for {} tensors", gradients.size(), model_.size())};
  }
  for (std::size_t i = 0; i < model_.size(); ++i) {
    if (Status status = check(i, gradients[i].size()); !status.ok()) return status;
  }
  if (damping_.compensates() && !has_own_optimizer(options_) && !has_compensated_) {
    return {Code::kInvalidArgument,
            fmt::format("the rate rule '{}' changes gradients, and with the optimizer sum there "
                        "are only updates; call compensate() before each step()",
                        damping_.rule().name())};
  }
  return {};
}

Status Parameters::Impl::check(std::size_t tensor, std::size_t elements) const {
  const std::size_t wanted = model_[tensor].size();
  if (elements == wanted) return {};
  return {Code::kInvalidArgument,
          fmt::format("gradient {} has {} elements, its tensor has {}", tensor, elements, wanted)};
}

Status Parameters::Impl::step(Gradients gradients) {
  if (!failed_.ok()) return failed_;
  if (Status status = check(gradients); !status.ok()) return status;  // Nothing has happened.
  has_compensated_ = false;
  failed_ = perform(strategy_->step(info_.step++), gradients);
  return failed_;
}

// Part of step() where that makes the updates.
Status Parameters::Impl::compensate(std::span<const std::span<float>> gradients) {
  if (!failed_.ok()) return failed_;
  if (has_own_optimizer(options_)) {
    return {Code::kInvalidArgument,
            "compensate() is for an optimizer of the caller's (sum), and these parameters have one "
            "of their own, for which step() does it; leave the call out"};
  }
  if (gradients.size() != model_.size()) {
    return {Code::kInvalidArgument,
            fmt::format("{} gradients were given for {} tensors", gradients.size(), model_.size())};
  }
  for (std::size_t i = 0; i < model_.size(); ++i) {
    if (gradients[i].empty()) continue;
    if (Status status = check(i, gradients[i].size()); !status.ok()) return status;
  }
  has_compensated_ = true;
  if (!damping_.compensates()) return {};
  failed_ = perform(strategy_->look_ahead(info_.step));
  if (!failed_.ok()) return failed_;
  for (std::size_t i = 0; i < model_.size(); ++i) {
    if (gradients[i].empty()) continue;
    damping_.rule().compensate(gradients[i], model_[i].incoming(), model_[i].values());
  }
  return {};
}

// ---- carrying out a plan

// Waits for all tensors even if one fails, unless a wait is interrupted.
Status Parameters::Impl::perform(const StepPlan& plan, Gradients gradients) {
  for (const StepStage& stage : plan) {
    if (is_once(stage.front())) {
      assert(stage.size() == 1);
      if (Status status = perform(stage.front(), gradients); !status.ok()) return status;
      continue;
    }
    Status first;
    for (std::size_t i = 0; i < model_.size(); ++i) {
      for (const StepAction action : stage) {
        if (Status status = perform(action, i, gradients); first.ok()) first = status;
        if (waits_.were_interrupted()) return first;
      }
    }
    if (!first.ok()) return first;
  }
  return {};
}

Status Parameters::Impl::perform(StepAction action, Gradients gradients) {
  switch (action) {
    case StepAction::kExchangeGradients:
      return exchange(gradients);
    case StepAction::kBarrier:
      return worker_.barrier();
    default:
      return judge(action == StepAction::kJudgeLate);
  }
}

Status Parameters::Impl::perform(StepAction action, std::size_t tensor, Gradients gradients) {
  ModelTensor& of_model = model_[tensor];
  InFlight& in_flight = in_flight_[tensor];
  switch (action) {
    case StepAction::kMakeUpdate:
      of_model.make_update(compensated(tensor, gradients[tensor]),
                           info_.factor * strategy_->share());
      return {};
    case StepAction::kMakeMeanUpdate:
      of_model.make_update(of_model.incoming(), 1);
      return {};
    case StepAction::kPush:
      in_flight.push = worker_.push(in_flight.tensor, of_model.update());
      return {};
    case StepAction::kPull:
      in_flight.pull = worker_.pull(in_flight.tensor, of_model.incoming());
      return {};
    case StepAction::kPushPull:
      in_flight.push = worker_.push_pull(in_flight.tensor, of_model.update(), of_model.incoming());
      return {};
    case StepAction::kAwaitPush:
      return waits_.wait(in_flight.push);
    case StepAction::kAwaitPull:
      return note(tensor, in_flight.pull);
    case StepAction::kAwaitPushPull:
      return note(tensor, in_flight.push);
    case StepAction::kAddMissing:
      of_model.add_missing(in_flight.pull.parts());
      return {};
    case StepAction::kAddToIncoming:
      of_model.add_to_incoming();
      return {};
    case StepAction::kAddToValues:
      of_model.add_to_values();
      return {};
    case StepAction::kTake:
      of_model.take();
      return {};
    default:
      return {};
  }
}

Status Parameters::Impl::note(std::size_t tensor, const Ticket& ticket) {
  Status status = unless_rejected(waits_.wait(ticket), options_.mode);
  if (status.ok() && tensor == largest_) info_.value = ticket.info();
  return status;
}

// One operation for all tensors, so that its ValueInfo covers all of them.
Status Parameters::Impl::exchange(Gradients gradients) {
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < model_.size(); ++i) {
    transfers.push_back({.tensor = in_flight_[i].tensor,
                         .source = std::as_bytes(gradients[i]),
                         .target = std::as_writable_bytes(model_[i].incoming())});
  }
  const Ticket ticket = worker_.push_pull(transfers);
  // No interruption ends this wait: the gradients are the caller's memory.
  Status status = unless_rejected(ticket.wait(), options_.mode);
  if (!status.ok()) return status;
  info_.value = ticket.info();
  return {};
}

Status Parameters::Impl::judge(bool late) {
  GradientAge age{.known = static_cast<double>(info_.value.staleness), .probed = {}, .late = late};
  info_.staleness = age.known;
  if (options_.probe && damping_.judges()) {
    const Ticket probe = worker_.probe(in_flight_[largest_].tensor);
    if (Status status = waits_.wait(probe); !status.ok()) return status;
    age.probed = static_cast<double>(probe.info().staleness);
  }
  info_.staleness = damping_.staleness(age);
  info_.factor = damping_.factor(info_.staleness, late);
  return {};
}

// The values received already are the newest known here.
std::span<const float> Parameters::Impl::compensated(std::size_t tensor,
                                                     std::span<const float> gradient) {
  if (!damping_.compensates() || !has_own_optimizer(options_)) return gradient;
  compensated_.assign(gradient.begin(), gradient.end());
  damping_.rule().compensate(compensated_, model_[tensor].incoming(), model_[tensor].values());
  return compensated_;
}

// ---- the end

Status Parameters::Impl::finish() {
  if (!failed_.ok() || info_.step == 0) return failed_;
  failed_ = perform(strategy_->finish(info_.step));
  if (failed_.ok()) has_compensated_ = false;
  return failed_;
}

// ---- public

Result<Parameters> Parameters::open(Worker& worker, std::span<const InitialValues> tensors,
                                    const ParameterOptions& options) {
  if (tensors.empty()) return Status(Code::kInvalidArgument, "a model has at least one tensor");
  auto impl = std::make_shared<Impl>(worker, options);
  Parameters parameters(impl);
  for (const InitialValues& initial : tensors) {
    if (Status status = impl->add_tensor(initial); !status.ok()) return status;
  }
  if (Status status = impl->begin(); !status.ok()) return status;
  return parameters;
}

Parameters::Parameters(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Parameters::Parameters(Parameters&&) noexcept = default;
Parameters& Parameters::operator=(Parameters&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Parameters::~Parameters() {
  if (impl_ != nullptr) Impl::let_go(impl_);
}

std::size_t Parameters::count() const { return impl_->model().size(); }
std::span<const float> Parameters::values(std::size_t tensor) const {
  return impl_->model().at(tensor).values();
}
Status Parameters::compensate(std::span<const std::span<float>> gradients) {
  return impl_->alone([&] { return impl_->compensate(gradients); });
}
Status Parameters::step(std::span<const std::span<const float>> gradients) {
  return impl_->alone([&] { return impl_->step(gradients); });
}
Status Parameters::finish() {
  return impl_->alone([this] { return impl_->finish(); });
}
std::vector<Attachment> Parameters::attachments() { return impl_->attachments(); }
void Parameters::set_rate(double rate) {
  for (ModelTensor& tensor : impl_->model()) tensor.optimizer().set_rate(rate);
}
StepInfo Parameters::info() const { return impl_->info(); }

}  // namespace stretto
