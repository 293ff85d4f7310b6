// SPDX-License-Identifier: Apache-2.0
// One training loop for every mode: what is pushed, what is waited for, and which of our own
// updates the values lack.
#include "stretto/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ops/sum.h"
#include "worker/training/optimizer.h"
#include "worker/training/typical_staleness.h"

namespace stretto {
namespace {

using Floats = std::vector<float>;

/// One tensor of the model.
struct Slab {
  std::string name;
  Tensor tensor;
  Optimizer optimizer;
  Floats values;    // What the user computes with,
  Floats incoming;  // and what is on its way.
  /// The update of round r is updates[r % 2]: that of the last round is on its way, and it and the
  /// one before may be missing in what comes.
  std::array<Floats, 2> updates;
  std::uint64_t rounds = 1;  // Ours: the broadcast, and one an update.
  Ticket pull;
  Ticket push;

  Floats& update(std::uint64_t round) { return updates[round % 2]; }
};

void add(std::span<float> sum, std::span<const float> more) {
  ops::sum_into(Dtype::kF32, std::as_writable_bytes(sum), std::as_bytes(more));
}

// Adds to each part of the values that came those of our updates that it does not hold.
void add_missing(Slab& slab, const std::vector<PartInfo>& parts) {
  for (const PartInfo& part : parts) {
    const std::size_t first = part.offset / sizeof(float);
    const std::size_t count = part.bytes / sizeof(float);
    for (std::uint64_t round = part.info.applied + 1; round <= slab.rounds; ++round) {
      add(std::span(slab.incoming).subspan(first, count),
          std::span(slab.update(round)).subspan(first, count));
    }
  }
}

TensorOptions tensor_options(const ParameterOptions& options) {
  const bool sync = options.mode == Mode::kSync;
  return {.mode = options.mode,
          .bound = options.mode == Mode::kBounded ? options.bound : 0,
          .update = {.rule = sync ? Rule::kMean : Rule::kSum},
          .deterministic = options.deterministic,
          .bulk = true};
}

}  // namespace

/// Thread: one at a time.
class Parameters::Impl {
 public:
  Impl(Worker& worker, const ParameterOptions& options) : worker_(worker), options_(options) {
    if (options_.rate_rule == nullptr) options_.rate_rule = relative_rate();
  }
  ~Impl() {
    for (Slab& slab : slabs_) {
      (void)slab.pull.wait();
      (void)slab.push.wait();
    }
  }

  Status add_tensor(const InitialValues& initial);
  Status begin();
  Status compensate(std::span<const std::span<float>> gradients);
  Status step(std::span<const std::span<const float>> gradients);
  Status finish();

  const std::vector<Slab>& slabs() const { return slabs_; }
  std::vector<Slab>& slabs() { return slabs_; }
  const StepInfo& info() const { return info_; }

 private:
  using Gradients = std::span<const std::span<const float>>;

  Status check(std::size_t tensor, std::size_t elements) const;
  Status check(Gradients gradients) const;
  Status step_in_mode(Gradients gradients);
  Status step_sync(Gradients gradients);
  Status step_waiting(Gradients gradients);
  Status step_eager(Gradients gradients);
  Status step_eager_async(Gradients gradients);
  Status look_ahead();
  Status exchange_updates();
  Status wait_for_pushes();
  Status wait_for_pulls();
  void overlay();
  void begin_pulls();
  Status judge(double known);
  bool judges() const { return options_.rate_rule->name() != "constant"; }
  Status measure_staleness();
  double typical() const;
  void make_update(Slab& slab, std::span<const float> gradient, double factor);
  bool warm() const { return info_.step > options_.warm_up; }
  bool compensates() const {
    return !has_rounds(options_.mode) && options_.rate_rule->compensates();
  }
  bool has_own_optimizer() const { return options_.optimizer.rule != Rule::kSum; }
  double workers() const { return worker_.size(); }

  Worker& worker_;
  ParameterOptions options_;
  std::vector<Slab> slabs_;
  std::size_t largest_ = 0;  // The slab that speaks for staleness.
  bool delayed_ = false;     // kEager: what comes is the round before the last.
  Floats compensated_;
  bool has_compensated_ = false;  // For the step to come; the caller's optimizer.
  bool has_overlaid_ = false;     // What came for that step has our own updates already.
  // kBounded: how stale others' updates are.
  std::unique_ptr<TypicalStaleness> typical_;
  StepInfo info_;
  Status failed_;
};

// ---- beginning

Status Parameters::Impl::add_tensor(const InitialValues& initial) {
  Result<Optimizer> optimizer = Optimizer::make(options_.optimizer, initial.values.size());
  if (!optimizer.ok()) return optimizer.status();
  Result<Tensor> tensor =
      worker_.declare(initial.name, Dtype::kF32, initial.values.size(), tensor_options(options_));
  if (!tensor.ok()) return tensor.status();
  const Floats zeros(initial.values.size());
  slabs_.push_back({.name = initial.name,
                    .tensor = *tensor,
                    .optimizer = *std::move(optimizer),
                    .values = Floats(initial.values.begin(), initial.values.end()),
                    .incoming = zeros,
                    .updates = {zeros, zeros},
                    .pull = {},
                    .push = {}});
  if (initial.values.size() > slabs_[largest_].values.size()) largest_ = slabs_.size() - 1;
  return {};
}

Status Parameters::Impl::begin() {
  for (Slab& slab : slabs_) slab.push = worker_.broadcast(slab.tensor, slab.values, 0);
  if (Status status = wait_for_pushes(); !status.ok()) return status;
  if (options_.mode == Mode::kBounded && judges()) {
    if (Status status = measure_staleness(); !status.ok()) return status;
  }
  if (options_.mode == Mode::kEagerAsync && options_.warm_up == 0) begin_pulls();
  return {};
}

// Workers may have their tensors in different orders.
Status Parameters::Impl::measure_staleness() {
  const auto first = std::ranges::min_element(slabs_, {}, &Slab::name);
  auto made = TypicalStaleness::open(worker_, first->name + "/staleness", workers() - 1);
  if (made.ok()) typical_ = std::move(*made);
  return made.status();
}

// ---- a step

Status Parameters::Impl::check(Gradients gradients) const {
  if (gradients.size() != slabs_.size()) {
    return {Code::kInvalidArgument,
            fmt::format("{} gradients were given for {} tensors", gradients.size(), slabs_.size())};
  }
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (Status status = check(i, gradients[i].size()); !status.ok()) return status;
  }
  if (compensates() && !has_own_optimizer() && !has_compensated_) {
    return {Code::kInvalidArgument,
            fmt::format("the rate rule '{}' changes gradients, and with the optimizer sum there "
                        "are only updates; call compensate() before each step()",
                        options_.rate_rule->name())};
  }
  return {};
}

Status Parameters::Impl::check(std::size_t tensor, std::size_t elements) const {
  const std::size_t wanted = slabs_[tensor].values.size();
  if (elements == wanted) return {};
  return {Code::kInvalidArgument,
          fmt::format("gradient {} has {} elements, its tensor has {}", tensor, elements, wanted)};
}

Status Parameters::Impl::step(Gradients gradients) {
  if (!failed_.ok()) return failed_;
  if (Status status = check(gradients); !status.ok()) return status;  // Nothing has happened.
  ++info_.step;
  has_compensated_ = false;
  failed_ = step_in_mode(gradients);
  return failed_;
}

Status Parameters::Impl::step_in_mode(Gradients gradients) {
  switch (options_.mode) {
    case Mode::kSync:
      return step_sync(gradients);
    case Mode::kBounded:
    case Mode::kAsync:
      return step_waiting(gradients);
    case Mode::kEager:
      return step_eager(gradients);
    case Mode::kEagerAsync:
      return warm() ? step_eager_async(gradients) : step_waiting(gradients);
  }
  return {Code::kInvalidArgument, "this mode is not known"};
}

// Everybody updates their own copy by the mean gradient; so the copies stay alike, and any
// optimizer does what it would do with one worker and a larger batch.
Status Parameters::Impl::step_sync(Gradients gradients) {
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    transfers.push_back({.tensor = slabs_[i].tensor,
                         .source = std::as_bytes(gradients[i]),
                         .target = std::as_writable_bytes(std::span(slabs_[i].incoming))});
  }
  const Ticket ticket = worker_.push_pull(transfers);
  if (Status status = ticket.wait(); !status.ok()) return status;
  info_.value = ticket.info();
  for (Slab& slab : slabs_) {
    ++slab.rounds;
    make_update(slab, slab.incoming, 1);
    add(slab.values, slab.update(slab.rounds));
  }
  return {};
}

// Bounded, async, and eager_async while it warms up: the update is in the values that come.
Status Parameters::Impl::step_waiting(Gradients gradients) {
  auto known = static_cast<double>(info_.value.staleness);  // Of the step before.
  if (compensates()) {
    if (has_own_optimizer()) {
      if (Status status = look_ahead(); !status.ok()) return status;
    }
    known = static_cast<double>(info_.value.staleness);
  }
  if (Status status = judge(known); !status.ok()) return status;
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    ++slabs_[i].rounds;
    make_update(slabs_[i], gradients[i], info_.factor);
  }
  if (Status status = exchange_updates(); !status.ok()) return status;
  if (options_.mode == Mode::kEagerAsync && info_.step == options_.warm_up) begin_pulls();
  return {};
}

// What step() does by itself where it makes the updates. Values of an eager step that is warm are
// on their way, or here, already.
Status Parameters::Impl::compensate(std::span<const std::span<float>> gradients) {
  if (!failed_.ok()) return failed_;
  if (has_own_optimizer()) {
    return {Code::kInvalidArgument,
            "compensate() is for an optimizer of the caller's (sum), and these parameters have one "
            "of their own, for which step() does it; leave the call out"};
  }
  if (gradients.size() != slabs_.size()) {
    return {Code::kInvalidArgument,
            fmt::format("{} gradients were given for {} tensors", gradients.size(), slabs_.size())};
  }
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (gradients[i].empty()) continue;
    if (Status status = check(i, gradients[i].size()); !status.ok()) return status;
  }
  has_compensated_ = true;
  if (!compensates()) return {};
  const bool coming = options_.mode == Mode::kEagerAsync && info_.step >= options_.warm_up;
  failed_ = coming ? wait_for_pulls() : look_ahead();
  if (!failed_.ok()) return failed_;
  if (coming) overlay();
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (gradients[i].empty()) continue;
    options_.rate_rule->compensate(gradients[i], slabs_[i].incoming, slabs_[i].values);
  }
  return {};
}

// Delay compensation wants values that are newer than those of the gradient.
Status Parameters::Impl::look_ahead() {
  begin_pulls();
  return wait_for_pulls();
}

// Pushes the updates just made, and waits for values that hold them.
Status Parameters::Impl::exchange_updates() {
  for (Slab& slab : slabs_) {
    slab.push = worker_.push_pull(slab.tensor, slab.update(slab.rounds), slab.incoming);
  }
  if (Status status = wait_for_pushes(); !status.ok()) return status;
  info_.value = slabs_[largest_].push.info();
  for (Slab& slab : slabs_) slab.values.swap(slab.incoming);
  return {};
}

// One round of delay: the values for the next step are those of the round before this one, which
// has been under way while the gradient was computed.
Status Parameters::Impl::step_eager(Gradients gradients) {
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    ++slabs_[i].rounds;
    make_update(slabs_[i], gradients[i], 1 / workers());
  }
  if (!warm()) return exchange_updates();
  if (Status status = wait_for_pushes(); !status.ok()) return status;
  if (delayed_) info_.value = slabs_[largest_].push.info();
  const bool delayed = std::exchange(delayed_, true);
  for (Slab& slab : slabs_) {
    if (delayed) slab.values.swap(slab.incoming);
    if (options_.overlay) add(slab.values, slab.update(slab.rounds));
    slab.push = worker_.push_pull(slab.tensor, slab.update(slab.rounds), slab.incoming);
  }
  return {};
}

// The values for the next step were asked for when this one began, whatever was there. The next
// ones are asked for before the update goes, so nothing of ours is before them on the way.
Status Parameters::Impl::step_eager_async(Gradients gradients) {
  if (Status status = wait_for_pulls(); !status.ok()) return status;
  if (Status status = wait_for_pushes(); !status.ok()) return status;  // At most one outstanding.
  if (Status status = judge(static_cast<double>(info_.value.staleness)); !status.ok()) {
    return status;
  }
  overlay();
  has_overlaid_ = false;
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    Slab& slab = slabs_[i];
    ++slab.rounds;
    make_update(slab, gradients[i], info_.factor);
    if (options_.overlay) add(slab.incoming, slab.update(slab.rounds));
    slab.values.swap(slab.incoming);
  }
  begin_pulls();
  for (Slab& slab : slabs_) slab.push = worker_.push(slab.tensor, slab.update(slab.rounds));
  return {};
}

// Our own updates that the values that came do not hold, once.
void Parameters::Impl::overlay() {
  if (!options_.overlay || std::exchange(has_overlaid_, true)) return;
  for (Slab& slab : slabs_) add_missing(slab, slab.pull.parts());
}

void Parameters::Impl::begin_pulls() {
  for (Slab& slab : slabs_) slab.pull = worker_.pull(slab.tensor, slab.incoming);
}

Status Parameters::Impl::wait_for_pulls() {
  Status first;
  for (Slab& slab : slabs_) {
    if (Status status = slab.pull.wait(); first.ok()) first = status;
  }
  info_.value = slabs_[largest_].pull.info();
  return first;
}

Status Parameters::Impl::wait_for_pushes() {
  Status first;
  for (Slab& slab : slabs_) {
    if (Status status = slab.push.wait(); first.ok()) first = status;
  }
  return first;
}

// How stale the gradient is, and what the rule makes of that. `known` came with the last values.
Status Parameters::Impl::judge(double known) {
  const bool eager = options_.mode == Mode::kEagerAsync;
  info_.staleness = known;
  if (options_.probe && judges()) {
    const Ticket probe = worker_.probe(slabs_[largest_].tensor);
    if (Status status = probe.wait(); !status.ok()) return status;
    // Values that were fetched ahead are newer than the gradient's: what passed until then counts.
    const bool looked = (eager && warm()) || options_.rate_rule->compensates();
    info_.staleness = static_cast<double>(probe.info().staleness) + (looked ? known : 0);
  }
  info_.factor = options_.rate_rule->factor({.versions = info_.staleness, .typical = typical()});
  if (typical_ != nullptr) typical_->note(info_.staleness);
  return {};
}

// Workers that never wait have an update under way all the time, and each is passed by one of every
// other's for each step from reading values to pushing what was made of them.
double Parameters::Impl::typical() const {
  if (typical_ != nullptr) return typical_->value();
  const double delay = options_.mode == Mode::kEagerAsync && warm() ? 2 : 1;
  return delay * (workers() - 1);
}

// Into the slab's update of this round. What has come already is the newest that is known here.
void Parameters::Impl::make_update(Slab& slab, std::span<const float> gradient, double factor) {
  if (compensates() && has_own_optimizer()) {
    compensated_.assign(gradient.begin(), gradient.end());
    options_.rate_rule->compensate(compensated_, slab.incoming, slab.values);
    gradient = compensated_;
  }
  slab.optimizer.make_update(gradient, slab.values, factor, slab.update(slab.rounds));
}

// ---- the end

Status Parameters::Impl::finish() {
  if (!failed_.ok()) return failed_;
  if (options_.mode == Mode::kSync || info_.step == 0) return {};
  failed_ = wait_for_pushes();
  if (failed_.ok()) failed_ = wait_for_pulls();
  const bool apart = !has_rounds(options_.mode);  // Nothing but barriers keeps the others in step.
  if (failed_.ok() && apart) failed_ = worker_.barrier();
  if (failed_.ok()) failed_ = look_ahead();
  if (failed_.ok() && apart) failed_ = worker_.barrier();
  if (!failed_.ok()) return failed_;
  for (Slab& slab : slabs_) slab.values.swap(slab.incoming);
  delayed_ = has_compensated_ = has_overlaid_ = false;
  if (options_.mode == Mode::kEagerAsync && info_.step >= options_.warm_up) begin_pulls();
  return {};
}

// ---- public

Result<Parameters> Parameters::open(Worker& worker, std::span<const InitialValues> tensors,
                                    const ParameterOptions& options) {
  if (tensors.empty()) return Status(Code::kInvalidArgument, "a model has at least one tensor");
  auto impl = std::make_unique<Impl>(worker, options);
  for (const InitialValues& initial : tensors) {
    if (Status status = impl->add_tensor(initial); !status.ok()) return status;
  }
  if (Status status = impl->begin(); !status.ok()) return status;
  return Parameters(std::move(impl));
}

Parameters::Parameters(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Parameters::Parameters(Parameters&&) noexcept = default;
Parameters& Parameters::operator=(Parameters&&) noexcept = default;
Parameters::~Parameters() = default;

std::size_t Parameters::count() const { return impl_->slabs().size(); }
std::span<const float> Parameters::values(std::size_t tensor) const {
  return impl_->slabs().at(tensor).values;
}
Status Parameters::compensate(std::span<const std::span<float>> gradients) {
  return impl_->compensate(gradients);
}
Status Parameters::step(std::span<const std::span<const float>> gradients) {
  return impl_->step(gradients);
}
Status Parameters::finish() { return impl_->finish(); }
void Parameters::set_rate(double rate) {
  for (Slab& slab : impl_->slabs()) slab.optimizer.set_rate(rate);
}
StepInfo Parameters::info() const { return impl_->info(); }

}  // namespace stretto
