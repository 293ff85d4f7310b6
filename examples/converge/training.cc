// SPDX-License-Identifier: Apache-2.0
// The training loop. Sleep emulates computation: it leaves the processor free, like a host whose
// accelerator computes, so that a few processors run many workers.
#include "examples/converge/training.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

namespace converge {

namespace {

using stretto::Mode;
using stretto::Parameters;
using stretto::Result;
using stretto::Status;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

double milliseconds_since(Clock::time_point time) {
  return Milliseconds(Clock::now() - time).count();
}

/// The computation time of each step: log-normal around the requested mean.
class Pace {
 public:
  Pace(const Settings& settings, bool slow, stretto::Rank rank)
      : mean_(settings.step_ms * (slow ? settings.slow : 1)),
        sigma_(settings.jitter),
        random_(settings.seed * 1000 + rank) {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // Nanoseconds; without, a sleep ends up to 50 us late.
  }

  /// Sleeps until the end of the step that began at `start`; returns the delay beyond it in ms.
  double fill(Clock::time_point start) {
    const double length = mean_ * std::exp(sigma_ * normal_(random_) - sigma_ * sigma_ / 2);
    const auto deadline = start + std::chrono::duration_cast<Clock::duration>(Milliseconds(length));
    std::this_thread::sleep_until(deadline);
    return milliseconds_since(deadline);
  }

 private:
  double mean_;
  double sigma_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

Result<Parameters> open(stretto::Worker& worker, const Settings& settings, const Task& task) {
  const Tensors initial = task.network.initial(settings.seed);
  std::vector<stretto::InitialValues> tensors;
  for (const std::vector<float>& values : initial) {
    tensors.push_back({.name = "layer" + std::to_string(tensors.size()), .values = values});
  }
  stretto::ParameterOptions options = settings.options;
  const bool rounds = stretto::has_rounds(options.mode);  // An update is the mean of W gradients.
  options.optimizer.rate = settings.rate * (rounds ? worker.size() : 1);
  return Parameters::open(worker, tensors, options);
}

/// Thread: one at a time.
class Training {
 public:
  Training(stretto::Worker& worker, const Settings& settings, Task& task, Parameters parameters)
      : worker_(worker),
        settings_(settings),
        task_(task),
        parameters_(std::move(parameters)),
        batches_(task.train.count(), worker.rank(), worker.size(), settings.batch,
                 settings.seed * 1000 + worker.rank()),
        pace_(settings, worker.rank() + 1 == worker.size(), worker.rank()) {}

  Status run();
  Outcome take_outcome() && { return std::move(outcome_); }

 private:
  Views values() const;
  double gradients() const;
  bool done() const;
  Status step();
  void remember();
  Status share_times();

  stretto::Worker& worker_;
  const Settings& settings_;
  Task& task_;
  Parameters parameters_;
  Batches batches_;
  Pace pace_;
  Clock::time_point beginning_;
  Tensors gradient_;
  bool broken_ = false;  // The loss is not finite any more.
  WorkerTimes times_;    // Sums until the end.
  std::vector<double> late_;
  Outcome outcome_;
};

Views Training::values() const {
  Views views;
  for (std::size_t i = 0; i < parameters_.count(); ++i) views.push_back(parameters_.values(i));
  return views;
}

/// Gradients in the values. The servers count the broadcast, too.
double Training::gradients() const {
  const stretto::StepInfo info = parameters_.info();
  const auto workers = static_cast<double>(worker_.size());
  const auto steps = static_cast<double>(info.step);
  const Mode mode = settings_.options.mode;
  const bool warm = info.step > settings_.options.warm_up;
  if (info.step == 0) return 0;
  if (mode == Mode::kEager && warm) return (steps - 1) * workers + 1;
  if (stretto::has_rounds(mode)) return steps * workers;
  const auto applied = static_cast<double>(info.value.version) - 1;
  if (mode != Mode::kEagerAsync || !warm) return applied;
  return applied + steps + 1 - static_cast<double>(info.value.applied);
}

/// If workers wait for each other, all must do the same number of steps.
bool Training::done() const {
  const Mode mode = settings_.options.mode;
  if (mode == Mode::kAsync || mode == Mode::kEagerAsync) {
    return broken_ || gradients() >= static_cast<double>(settings_.gradients);
  }
  return parameters_.info().step * worker_.size() >= settings_.gradients;
}

void Training::remember() {
  if (worker_.rank() != 0) return;
  Snapshot& snapshot = outcome_.snapshots.emplace_back();
  snapshot.seconds = milliseconds_since(beginning_) / 1000;
  snapshot.gradients = gradients();
  for (const std::span<const float> tensor : values()) {
    snapshot.values.emplace_back(tensor.begin(), tensor.end());
  }
}

Status Training::step() {
  const Clock::time_point start = Clock::now();
  const double loss =
      task_.network.loss_and_gradient(values(), task_.train, batches_.next(), gradient_);
  broken_ = !std::isfinite(loss);
  late_.push_back(pace_.fill(start));

  const Clock::time_point computed = Clock::now();
  const Views gradients = views_of(gradient_);
  if (Status status = parameters_.step(gradients); !status.ok()) return status;
  times_.exchange_ms += milliseconds_since(computed);
  times_.staleness += parameters_.info().staleness;
  times_.factor += parameters_.info().factor;
  times_.steps += 1;
  if (parameters_.info().step % settings_.every == 0) remember();
  return {};
}

Status Training::run() {
  if (Status status = worker_.barrier(); !status.ok()) return status;
  beginning_ = Clock::now();
  outcome_.before = usage_now();
  remember();
  while (!done()) {
    if (Status status = step(); !status.ok()) return status;
  }
  times_.seconds = milliseconds_since(beginning_) / 1000;
  outcome_.after = usage_now();
  if (Status status = parameters_.finish(); !status.ok()) return status;
  remember();
  return share_times();
}

/// Shares the times of all workers: a sum in which each worker fills its own elements.
Status Training::share_times() {
  std::ranges::sort(late_);
  const double steps = std::max(1.0, times_.steps);
  times_.late_ms = std::accumulate(late_.begin(), late_.end(), 0.0) / steps;
  times_.late_p99_ms = late_.empty() ? 0 : late_[late_.size() * 99 / 100];
  const double mine[] = {times_.steps,         times_.seconds,     times_.exchange_ms / steps,
                         times_.late_ms,       times_.late_p99_ms, times_.staleness / steps,
                         times_.factor / steps};
  constexpr std::size_t kNumbers = std::size(mine);
  std::vector<double> all(kNumbers * worker_.size());
  std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(kNumbers * worker_.rank()));
  const auto tensor = worker_.declare("times", stretto::Dtype::kF64, all.size());
  if (!tensor.ok()) return tensor.status();
  if (Status status = worker_.push_pull(*tensor, all, all).wait(); !status.ok()) return status;
  for (std::size_t at = 0; at < all.size(); at += kNumbers) {
    outcome_.workers.push_back(
        {all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4], all[at + 5], all[at + 6]});
  }
  return {};
}

}  // namespace

Result<Outcome> train(stretto::Worker& worker, const Settings& settings, Task& task) {
  Result<Parameters> parameters = open(worker, settings, task);
  if (!parameters.ok()) return parameters.status();
  Training training(worker, settings, task, *std::move(parameters));
  if (Status status = training.run(); !status.ok()) return status;
  return std::move(training).take_outcome();
}

}  // namespace converge
