// SPDX-License-Identifier: Apache-2.0
// A worker of a `recover` job: steps that exchange one tensor each, and measurements of
// checkpoints, restores and server failures.
#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <limits>

#include "stretto/checkpoints.h"
#include "stretto/worker.h"
#include "tools/bench/exchange/worker_role.h"
#include "tools/bench/settings/recover_settings.h"
#include "tools/bench/support/flags.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/report_pipe.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench {
namespace {

enum class Work : std::uint8_t {
  kPhases,    ///< Alternating steps with and without a checkpoint: a report for each phase.
  kRestored,  ///< Pulls restored tensors twice; reports the first's end and the second's time.
  kAnew,      ///< One step: reports its time.
  kOn,        ///< Steps until the pipe ends: reports many of them.
};

constexpr std::pair<std::string_view, Work> kWorks[] = {{"phases", Work::kPhases},
                                                        {"restored", Work::kRestored},
                                                        {"anew", Work::kAnew},
                                                        {"on", Work::kOn}};

struct Orders {
  Work work = Work::kOn;
  std::uint64_t tensors = 1;
  std::uint64_t step_bytes = 4;
  double interval = 1;
  std::uint32_t phases = 2;
  bool rule = false;  ///< Servers keep values and optimizer state.
  int report_descriptor = -1;
  int until_descriptor = -1;
};

constexpr double kStepsWarmUpSeconds = 0.3;
constexpr Duration kBetweenReports = 1ms;

class RecoverWorker {
 public:
  RecoverWorker(const Orders& orders, Worker worker)
      : orders_(orders),
        gradient_(orders.step_bytes / sizeof(float)),
        values_(gradient_.size()),
        worker_(std::move(worker)) {}

  Status run() {
    Status status = declare();
    if (!status.ok()) return status;
    switch (orders_.work) {
      case Work::kPhases:
        status = phases();
        break;
      case Work::kRestored:
        status = restored();
        break;
      case Work::kAnew:
        status = anew();
        break;
      case Work::kOn:
        status = steps();
        break;
    }
    return status.ok() ? worker_.leave() : status;
  }

 private:
  Status declare();
  Status step(std::uint64_t number);
  Status report(const Report& report) { return write_report(orders_.report_descriptor, report); }
  Result<std::uint64_t> agree(double seconds_a_step);
  Result<std::uint64_t> calibrate();
  Status phases();
  Result<Report> phase(std::uint64_t steps, Checkpoints* checkpoints);
  Status restored();
  Status pull_all();
  Status anew();
  Status steps();
  Status check(std::uint64_t number) const;
  bool asked_to_stop() const;

  const Orders orders_;
  std::vector<Tensor> tensors_;
  Tensor agreement_;
  std::uint64_t step_ = 0;
  std::vector<float> gradient_;
  std::vector<float> values_;
  Worker worker_;  // Last: it ends before the memory.
};

// Whole numbers, so that sums are exact; the first element signals the end.
float share_of(std::size_t i, Rank rank) {
  return i == 0 ? 0 : static_cast<float>(i % 1021 + rank);
}

Status RecoverWorker::declare() {
  TensorOptions options;
  if (orders_.rule) options.update = {.rule = Rule::kMomentum, .rate = 0.001};
  for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] = share_of(i, worker_.rank());
  for (std::uint64_t i = 0; i < orders_.tensors; ++i) {
    Result<Tensor> tensor =
        worker_.declare(fmt::format("recover/{}", i), Dtype::kF32, gradient_.size(), options);
    if (!tensor.ok()) return tensor.status();
    tensors_.push_back(*tensor);
    if (!orders_.rule || tensor->restored || orders_.work == Work::kAnew) continue;
    values_ = gradient_;
    Status status = worker_.broadcast(*tensor, values_, 0).wait();
    if (!status.ok()) return status;
  }
  Result<Tensor> tensor = worker_.declare("recover/agreement", Dtype::kF64, 1);
  if (tensor.ok()) agreement_ = *tensor;
  return tensor.status();
}

Status RecoverWorker::step(std::uint64_t number) {
  return worker_.push_pull(tensors_[number % tensors_.size()], gradient_, values_).wait();
}

// ---- alternately with a checkpoint and without one

// The number of steps in a phase, by rank 0's measurement.
Result<std::uint64_t> RecoverWorker::agree(double seconds_a_step) {
  std::vector<double> mine{worker_.rank() == 0 ? orders_.interval / seconds_a_step : 0};
  std::vector<double> sum(1);
  Status status = worker_.push_pull(agreement_, mine, sum).wait();
  if (!status.ok()) return status;
  return static_cast<std::uint64_t>(std::clamp(sum[0], 4.0, 1e9));
}

// Doubles the number of steps until they take long enough to warm up.
Result<std::uint64_t> RecoverWorker::calibrate() {
  for (std::uint64_t steps = tensors_.size();; steps *= 2) {
    const Time begun = now();
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (Status status = step(step_++); !status.ok()) return status;
    }
    const double took = seconds(now() - begun);
    Result<std::uint64_t> agreed = agree(took / static_cast<double>(steps));
    if (!agreed.ok()) return agreed;
    // Uses the agreed number, so that all workers decide alike. The first pass touches new memory.
    if (steps > tensors_.size() &&
        orders_.interval / static_cast<double>(*agreed) * static_cast<double>(steps) >=
            kStepsWarmUpSeconds) {
      return agreed;
    }
  }
}

Status RecoverWorker::phases() {
  Checkpoints checkpoints(worker_);
  const Result<std::uint64_t> steps = calibrate();
  if (!steps.ok()) return steps.status();
  for (std::uint32_t i = 0; i < orders_.phases; ++i) {
    Status status = worker_.barrier();
    if (!status.ok()) return status;
    const Result<Report> found = phase(*steps, has_checkpoint(i) ? &checkpoints : nullptr);
    if (!found.ok()) return found.status();
    if (status = report(*found); !status.ok()) return status;
  }
  return worker_.barrier();
}

// With checkpoints: begins one at the first step, reports the longest step while it is written, and
// ends when it is complete.
Result<Report> RecoverWorker::phase(std::uint64_t steps, Checkpoints* checkpoints) {
  Report found{.rank = worker_.rank()};
  CheckpointTicket ticket;
  std::vector<double> took;
  took.reserve(steps);
  bool is_written = false;
  const Time start = now();
  for (std::uint64_t i = 0; i < steps; ++i) {
    const Time begun = now();
    if (i == 0 && checkpoints != nullptr) ticket = checkpoints->begin(step_);
    if (Status status = step(step_++); !status.ok()) return status;
    took.push_back(1e6 * seconds(now() - begun));
    if (is_written) continue;
    found.max_us = std::max(found.max_us, took.back());
    if (checkpoints == nullptr || !ticket.done()) continue;
    is_written = true;
    found.written_s = seconds(now() - start);
  }
  if (Status status = ticket.wait(); !status.ok()) return status;
  found.seconds = seconds(now() - start);
  if (!is_written) found.written_s = found.seconds;
  found.p50_us = median_of(std::move(took));
  return found;
}

// ---- a job restored from a checkpoint

Status RecoverWorker::pull_all() {
  for (const Tensor& tensor : tensors_) {
    if (Status status = worker_.pull(tensor, values_).wait(); !status.ok()) return status;
  }
  return {};
}

Status RecoverWorker::restored() {
  for (const Tensor& tensor : tensors_) {
    if (!tensor.restored) return {Code::kMalformed, "the job does not go on from a checkpoint"};
  }
  Status status = pull_all();
  if (!status.ok()) return status;
  Report found{.rank = worker_.rank(), .at_s = seconds(now().time_since_epoch())};
  const Time begun = now();
  if (status = pull_all(); !status.ok()) return status;
  found.seconds = seconds(now() - begun);
  return report(found);
}

Status RecoverWorker::anew() {
  Status status = step(0);
  if (!status.ok()) return status;
  return report({.rank = worker_.rank(), .at_s = seconds(now().time_since_epoch())});
}

// ---- steps whose servers are killed

bool RecoverWorker::asked_to_stop() const {
  pollfd look{orders_.until_descriptor, POLLIN, 0};
  return ::poll(&look, 1, 0) > 0;
}

Status RecoverWorker::check(std::uint64_t number) const {
  if (orders_.rule) return {};
  const auto workers = static_cast<float>(worker_.size());
  for (std::size_t i = 1; i < values_.size(); ++i) {
    const float wanted = workers * share_of(i, 0) + workers * (workers - 1) / 2;
    if (values_[i] == wanted) continue;
    return {Code::kMalformed, fmt::format("wrong sum in step {}: element {} is {}, wanted {}",
                                          number, i, values_[i], wanted)};
  }
  return {};
}

Status RecoverWorker::steps() {
  Checkpoints checkpoints(worker_);
  Time told;
  for (std::uint64_t number = checkpoints.restored().step;; ++number) {
    const Time begun = now();
    if (asked_to_stop()) gradient_[0] = 1;  // All workers see it in the same round.
    Status status = step(0);
    const Time ended = now();
    if (status.ok()) status = check(number);
    if (!status.ok()) return status;
    if (values_[0] != 0) return {};
    if (ended - told >= kBetweenReports) {
      told = ended;
      status = report({.rank = worker_.rank(),
                       .seconds = seconds(ended - begun),
                       .at_s = seconds(ended.time_since_epoch())});
      if (!status.ok()) return status;
    }
    const Result<bool> due = checkpoints.due(number + 1);
    if (!due.ok()) return due.status();
    if (*due) (void)checkpoints.save(number + 1);  // If it fails, an earlier checkpoint is used.
  }
}

Result<Orders> read_orders(std::span<const std::string> words) {
  Orders orders;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::vector<Flag> flags{choice_flag<Work>("work", kWorks, orders.work),
                                whole_flag("tensors", 1, kMost, orders.tensors),
                                whole_flag("step_bytes", 4, kMost, orders.step_bytes),
                                seconds_flag("interval", 0, 1e6, orders.interval),
                                whole_flag("phases", 0, kMost, orders.phases),
                                switch_flag("rule", orders.rule),
                                whole_flag("report_fd", 0, kMost, orders.report_descriptor),
                                whole_flag("until_fd", 0, kMost, orders.until_descriptor)};
  Status status = read_flags(words, flags);
  if (!status.ok()) return status;
  return orders;
}

}  // namespace

Status run_recover_worker(std::span<const std::string> words) {
  const Result<Orders> orders = read_orders(words);
  if (!orders.ok()) return orders.status();
  Result<Worker> worker = Worker::join();
  if (!worker.ok()) return worker.status();
  return RecoverWorker(*orders, *std::move(worker)).run();
}

}  // namespace stretto::bench
