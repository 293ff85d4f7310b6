// SPDX-License-Identifier: Apache-2.0
// Parameters: the weights of a model that several workers train, in any mode. One flag changes how
// workers wait for one another; the loop stays the same.
//
//   const stretto::ParameterOptions options{.mode = stretto::Mode::kEager};
//   auto weights = stretto::Parameters::open(worker, {{"weights", initial}}, options).or_exit();
//   for (...) {
//     compute(weights.values(0), gradient);        // the next values arrive meanwhile
//     weights.step({gradient}).or_exit();
//   }
//   weights.finish().or_exit();                    // everybody's updates are in the values now
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/attachment.h"
#include "stretto/rate_rule.h"
#include "stretto/worker.h"

#pragma GCC visibility push(default)
namespace stretto {

/// How the parameters are trained. Every worker must open them with the same options, except for
/// the rate and the rate rule.
///
/// mode             a step ends when                       its values hold
/// kSync            every worker's gradient is in          all updates
/// kBounded         it is at most `bound` steps ahead      what has arrived, no worker far behind
/// kAsync           the servers have answered              what has arrived
/// kEager           the round *before* this one is done    all updates but those of the last round,
///                                                         of which they hold this worker's own
/// kEagerAsync      the values requested when the step     what had arrived by then, and all own
///                  began are here
struct ParameterOptions {
  Mode mode = Mode::kSync;
  std::uint32_t bound = 3;  ///< kBounded: steps that a worker may be ahead of the slowest.
  /// The optimizer: kSgd, kMomentum, kAdam or kAdagrad. In mode kSync it works on the mean of the
  /// gradients, identically at each worker. In other modes each worker has its own, and their
  /// updates are added up (in kEager divided by the number of workers). kSum is for an optimizer of
  /// the caller's: step() then takes updates, which are added to values().
  RuleOptions optimizer = {.rule = Rule::kSgd};
  /// For kBounded, kAsync and kEagerAsync: how stale gradients are damped. Null: relative_rate().
  std::shared_ptr<const RateRule> rate_rule = nullptr;
  /// Eager modes: first steps that wait for their own updates, as in kSync and kAsync.
  std::uint32_t warm_up = 0;
  /// Ask for the staleness just before each push, if the rate rule may use it: it costs one round
  /// trip of a small frame. Otherwise it is that of the time when the last values left the servers.
  bool probe = true;
  /// Eager modes: add own updates that the values do not hold yet (read my writes). Otherwise, in
  /// mode kEager every worker sees the same sequence of values.
  bool overlay = true;
  /// kSync, kEager: add in the order of ranks, so that the bits of the values do not depend on
  /// timing.
  bool deterministic = false;
  /// This worker joins a job in which the others have opened them (StepBegin::comes_in): it starts
  /// with the values that the servers have, and does not wait. In kSync, where workers have them,
  /// it starts with its own initial values.
  bool late = false;
};

/// What is known of the last step, at this worker.
struct StepInfo {
  std::uint64_t step = 0;  ///< From 1.
  /// Updates of other workers between the values that the gradient was computed from and its push,
  /// as far as known then. 0 in kSync and kEager.
  double staleness = 0;
  double factor = 1;  ///< The rate rule's factor for it.
  ValueInfo value;    ///< Of the last values received; of all tensors together.
};

/// One tensor of the model, and rank 0's initial values (at other ranks only the size counts,
/// except at `late` workers in kSync).
struct InitialValues {
  std::string name;
  std::span<const float> values;
};

/// The weights of one model. Thread: one at a time. Movable. The worker must outlive it.
class Parameters {
 public:
  /// Declares the tensors, and sets all workers' values to those of rank 0. All workers must call
  /// it; blocks until they have, unless this worker is late. The values are copied.
  /// kInvalidArgument if the options do not fit together or there is no tensor; other errors are
  /// those of Worker::declare and broadcast.
  static Result<Parameters> open(Worker& worker, std::span<const InitialValues> tensors,
                                 const ParameterOptions& options = {});
  static Result<Parameters> open(Worker& worker, std::initializer_list<InitialValues> tensors,
                                 const ParameterOptions& options = {}) {
    return open(worker, std::span(tensors.begin(), tensors.size()), options);
  }
  Parameters(Parameters&&) noexcept;
  Parameters& operator=(Parameters&&) noexcept;
  /// Does not block: the memory that operations in flight use lives until they have ended.
  ~Parameters();

  std::size_t count() const;  ///< Tensors.
  /// The values to compute the next gradient from: the tensor's elements, in its order. Valid until
  /// the next step() or finish(). `tensor` is below count().
  std::span<const float> values(std::size_t tensor) const;

  /// For an optimizer of the caller's (kSum) and a rate rule that compensates for delay, before
  /// each step(): changes the gradients (one for each tensor, in order, of its size; an empty one
  /// is skipped) by the rule, with the newest values available. No effect in kSync and kEager,
  /// where the delay is none or the same for all. With another optimizer step() does this, and the
  /// call is kInvalidArgument.
  Status compensate(std::span<const std::span<float>> gradients);
  /// Makes an update of the gradients (one for each tensor, in order, of its size), pushes it, and
  /// gets the values for the next step. Blocks as the mode says. The gradients are lent for the
  /// call only. kInvalidArgument for a wrong number or size of gradients changes nothing; after any
  /// other error every later call returns that error.
  Status step(std::span<const std::span<const float>> gradients);
  Status step(std::initializer_list<std::span<const float>> gradients) {
    return step(std::span(gradients.begin(), gradients.size()));
  }
  /// Blocks until every worker has finished (in kSync and kEager, for the rounds in flight).
  /// Afterwards all workers have the same values, with every update in them. All must call it, in
  /// kSync and kEager after the same number of steps, in kBounded after numbers at most `bound`
  /// apart: else others wait for steps that never come. Training may continue.
  Status finish();

  /// For Checkpoints::save(), after finish(): the optimizers' state, and in kSync, where the
  /// workers hold them, the values. Its memory does not change until the next call of this object.
  /// In a job that resumes from such a checkpoint open() starts with what was saved, and ignores
  /// initial values; kMismatch if the checkpoint has another model, or lacks this one.
  std::vector<Attachment> attachments();

  /// For a schedule of learning rates: the optimizer's rate from the next step on. At least 0.
  void set_rate(double rate);
  StepInfo info() const;  ///< Of the last step(); all zeros before the first, factor 1.

 private:
  class Impl;
  explicit Parameters(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace stretto
#pragma GCC visibility pop
