// SPDX-License-Identifier: Apache-2.0
// Sleeps in place of computation: forward through the layers, each when its tensors are complete,
// then backward, after which each gradient leaves.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "collective/fusion.h"
#include "experiments/models/backward_order.h"
#include "experiments/replay/replay.h"
#include "experiments/replay/replay_plan.h"
#include "experiments/replay/replay_traffic.h"
#include "stretto/order.h"
#include "stretto/worker.h"
#include "tools/bench/support/now.h"
#include "tools/bench/support/pace.h"
#include "tools/bench/support/processes.h"
#include "tools/bench/support/report_pipe.h"
#include "tools/bench/support/statistics.h"

namespace stretto::bench::experiments {
namespace {

constexpr int kMostUrgent = 1 << 30;
constexpr double kStartShare = 0.1;  // Of an exchange's time, if exchanges overlap.

struct ReplayTask {
  ReplaySettings settings;
  double bytes_per_second = 0;  ///< The lab's link rate, for TAC.
  int report_descriptor = -1;
};

Result<ReplayTask> read_replay_task(std::span<const std::string> words) {
  ReplayTask task;
  std::vector<Flag> flags = replay_flags(task.settings);
  flags.push_back(
      whole_flag("report_fd", 0, std::numeric_limits<std::int32_t>::max(), task.report_descriptor));
  flags.push_back(whole_flag("bytes_per_second", 1, std::uint64_t{1} << 50, task.bytes_per_second));
  Status status = read_flags(words, flags);
  if (status.ok() && task.settings.schemes.size() != 1) {
    status = invalid("worker-role replay wants one --scheme");
  }
  if (!status.ok()) return status;
  return task;
}

class ReplayWorker {
 public:
  ReplayWorker(const ReplayTask& task, Model model, Worker worker)
      : task_(task),
        scheme_(task_.settings.schemes.front()),
        model_(std::move(model)),
        traffic_(task_.settings, scheme_, model_, std::move(worker)) {}

  Status run() {
    Status status = plan();
    if (status.ok()) status = choose_order(0);
    if (status.ok()) status = traffic_.check_values(1);
    if (!status.ok()) return status;
    traffic_.fill_sources();
    std::vector<double> times;
    double cpu_before = 0;
    Time began;
    for (std::uint32_t i = 0; i < task_.settings.warm_up + task_.settings.iterations; ++i) {
      const Time start = now();
      if (i == task_.settings.warm_up) {
        cpu_before = cpu_seconds_told();
        began = start;
      }
      status = choose_order(i);
      if (status.ok()) status = iterate();
      if (!status.ok()) return status;
      if (i >= task_.settings.warm_up) times.push_back(seconds(now() - start));
    }
    const double cpu_used = (cpu_seconds_told() - cpu_before) / seconds(now() - began) /
                            static_cast<double>(std::thread::hardware_concurrency());
    status = traffic_.wait_for_all();
    if (status.ok()) status = traffic_.check_values(2);
    if (status.ok()) status = worker().leave();
    if (status.ok()) status = report(times, cpu_used);
    return status;
  }

 private:
  bool is_eager() const { return scheme_.flow == Flow::kEager; }
  bool is_late(std::size_t layer) const {
    return scheme_.flow == Flow::kDelayed && layer < task_.settings.late_layers;
  }
  bool waits_by_layer() const {
    return scheme_.flow == Flow::kPushPull || scheme_.flow == Flow::kDelayed;
  }
  bool sends_by_layer() const { return waits_by_layer() || scheme_.flow == Flow::kInTurn; }
  Worker& worker() { return traffic_.worker(); }
  // Of this worker; the first includes the servers and the kernel's network.
  double cpu_seconds_told() {
    if (worker().rank() != 0) return cpu_seconds();
    return cpu_seconds() + cpu_seconds_of(servers_of(::getppid())) + interrupt_seconds();
  }
  Status plan();
  Result<std::vector<std::size_t>> groups_of(const std::vector<std::uint32_t>& order);
  std::vector<collective::Gradient> gradients_of(const std::vector<std::uint32_t>& order) const;
  Status choose_order(std::uint32_t iteration);
  Status iterate();
  Status wait_for(std::uint32_t tensor);
  void hurry_late();
  Status finish_iteration();
  Status report(const std::vector<double>& times, double cpu_used);

  const ReplayTask task_;
  const Scheme scheme_;
  const Model model_;
  std::vector<std::string> names_;
  std::vector<Duration> forward_;
  std::vector<BackwardStep> backward_;
  double start_s_ = 0;  // Of an exchange; 0: not measured.
  UseRecorder uses_;
  Pace pace_;
  ReplayTraffic traffic_;
};

// ---- planning

Status ReplayWorker::plan() {
  for (const Model::TensorShape& tensor : model_.tensors) names_.push_back(tensor.name);
  const Compute compute = compute_of(task_.settings, model_);
  std::vector<Duration> backward;
  for (const double share : shares_of(model_)) {
    forward_.push_back(duration_of(share * compute.forward_s));
    backward.push_back(duration_of(share * compute.backward_s));
  }
  backward_ = scheme_.backward_by_bytes ? backward_by_bytes(model_, backward)
                                        : backward_by_layers(backward);
  std::vector<std::uint32_t> order;
  for (const BackwardStep& step : backward_) {
    if (!step.brings_gradients) continue;
    const std::vector<std::uint32_t>& its = model_.layers[step.layer].tensors;
    order.insert(order.end(), its.begin(), its.end());
  }
  const Result<std::vector<std::size_t>> groups = groups_of(order);
  return groups.ok() ? traffic_.declare(order, *groups) : groups.status();
}

Result<std::vector<std::size_t>> ReplayWorker::groups_of(const std::vector<std::uint32_t>& order) {
  if (scheme_.fusing == Fusing::kNone) return std::vector<std::size_t>(order.size(), 1);
  const std::vector<collective::Gradient> gradients = gradients_of(order);
  const std::uint64_t most_bytes = kFusedBytes / task_.settings.scale;
  if (scheme_.fusing == Fusing::kByBytes) return collective::fuse_by_bytes(gradients, most_bytes);
  const Result<double> start_s = traffic_.measure_start();
  if (!start_s.ok()) return start_s.status();
  start_s_ = *start_s;
  const double byte_s = one_way_among_s(1, task_.bytes_per_second, worker().size());
  const collective::ExchangeCost cost{.start_s = start_s_, .bytes_per_second = 1 / byte_s};
  if (scheme_.flow == Flow::kInTurn) return collective::fuse(gradients, cost, most_bytes);
  // Overlapping exchanges are ordered by priority, not by arrival. Fusing beyond the size that
  // hides the start-up only delays the urgent tensors.
  const auto worth_it = static_cast<std::uint64_t>(start_s_ / kStartShare / byte_s);
  return collective::fuse_by_bytes(gradients, std::min(most_bytes, worth_it));
}

// Times from the start of backward.
std::vector<collective::Gradient> ReplayWorker::gradients_of(
    const std::vector<std::uint32_t>& order) const {
  std::vector<collective::Gradient> of(model_.tensors.size());
  double at = 0;
  for (const BackwardStep& step : backward_) {
    at += seconds(step.time);
    if (!step.brings_gradients) continue;
    for (const std::uint32_t tensor : model_.layers[step.layer].tensors) of[tensor].ready_s = at;
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    of[i].bytes = 4 * scaled_elements(model_.tensors[i].elements, task_.settings.scale);
  }
  std::vector<collective::Gradient> gradients;
  for (const std::uint32_t tensor : order) gradients.push_back(of[tensor]);
  return gradients;
}

// ---- order

// Random orders differ in every iteration; the order of first use is known after one.
Status ReplayWorker::choose_order(std::uint32_t iteration) {
  std::string name = order_name(task_.settings, scheme_);
  const bool by_use = name == "first_use";
  const bool settled = name != "random" && !(by_use && iteration == 1);
  if (iteration > 0 && settled) return {};
  if (by_use) name = "arrival";
  const std::uint64_t seed = task_.settings.seed + iteration * worker().size() + worker().rank();
  const Result<Order> order = by_use && iteration > 0 ? Result<Order>(uses_.order())
                                                      : make_order(name, task_.settings, model_,
                                                                   task_.bytes_per_second, seed);
  if (!order.ok()) return order.status();
  Result<std::vector<int>> priorities = (*order)->priorities(names_);
  if (!priorities.ok()) return priorities.status();
  // Delayed tensors have time until the next backward: all others of their iteration go first.
  const int last = std::ranges::min(*priorities) - 1;
  for (std::size_t i = 0; i < model_.layers.size() && is_late(i); ++i) {
    for (const std::uint32_t tensor : model_.layers[i].tensors) (*priorities)[tensor] = last;
  }
  traffic_.set_priorities(*priorities);
  return {};
}

// ---- an iteration

Status ReplayWorker::wait_for(std::uint32_t tensor) {
  const Result<bool> waited = traffic_.wait_for(tensor);
  if (waited.ok() && *waited) pace_.waited();
  return waited.status();
}

Status ReplayWorker::iterate() {
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    for (const std::uint32_t tensor : model_.layers[i].tensors) {
      uses_.used(names_[tensor]);
      if (is_eager() || is_late(i)) continue;  // They belong to the previous iteration.
      if (Status status = wait_for(tensor); !status.ok()) return status;
    }
    pace_.compute(forward_[i]);
  }
  hurry_late();
  for (const BackwardStep& step : backward_) {
    pace_.compute(step.time);
    if (!step.brings_gradients || !sends_by_layer()) continue;
    for (const std::uint32_t tensor : model_.layers[step.layer].tensors) {
      if (is_late(step.layer)) {
        if (Status status = wait_for(tensor); !status.ok()) return status;
      }
      traffic_.ready(tensor);
    }
  }
  return finish_iteration();
}

// They are needed before this backward's gradients.
void ReplayWorker::hurry_late() {
  for (std::size_t i = 0; i < model_.layers.size() && is_late(i); ++i) {
    for (const std::uint32_t tensor : model_.layers[i].tensors) {
      traffic_.hurry(tensor, kMostUrgent);
    }
  }
}

Status ReplayWorker::finish_iteration() {
  if (waits_by_layer()) return {};
  if (scheme_.flow == Flow::kSerial) traffic_.push_all();
  if (Status status = traffic_.wait_for_all(); !status.ok()) return status;
  if (scheme_.flow == Flow::kInTurn) {
    pace_.waited();
    return {};
  }
  if (is_eager()) {
    traffic_.push_pull_all();
    return {};
  }
  traffic_.pull_all();
  return traffic_.wait_for_all();
}

// ---- results

Status ReplayWorker::report(const std::vector<double>& times, double cpu_used) {
  const std::vector<double> late = pace_.lateness_us();
  Report found{.rank = worker().rank(), .cpu_s = cpu_used};
  found.transfers = static_cast<double>(traffic_.transfers());
  found.start_us = 1e6 * start_s_;
  found.p50_us = quantile(late, 0.5);
  found.p99_us = quantile(late, 0.99);
  for (const double one : times) {
    found.seconds = one;
    Status status = write_report(task_.report_descriptor, found);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Status run_replay_worker(std::span<const std::string> words) {
  const Result<ReplayTask> task = read_replay_task(words);
  if (!task.ok()) return task.status();
  Result<Model> model = find_model(task->settings.model);
  if (!model.ok()) return model.status();
  Result<Worker> worker = Worker::join();
  if (!worker.ok()) return worker.status();
  return ReplayWorker(*task, *std::move(model), *std::move(worker)).run();
}

}  // namespace stretto::bench::experiments
