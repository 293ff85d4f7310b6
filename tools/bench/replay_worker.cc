// SPDX-License-Identifier: Apache-2.0
// Real tensors through the public API, and sleeps where a processor would compute: forward through
// the layers, each when its tensors are there, and backward, after which each gradient leaves.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "stretto/order.h"
#include "stretto/worker.h"
#include "tools/bench/now.h"
#include "tools/bench/pace.h"
#include "tools/bench/processes.h"
#include "tools/bench/replay_plan.h"
#include "tools/bench/report_pipe.h"
#include "tools/bench/statistics.h"
#include "tools/bench/worker_role.h"

namespace stretto::bench {
namespace {

constexpr int kMostUrgent = 1 << 30;

struct ReplayTask {
  ReplaySettings settings;
  double bytes_per_second = 0;  ///< Of the lab's link, as TAC is told.
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
        scheme_(task.settings.schemes.front()),
        model_(std::move(model)),
        worker_(std::move(worker)) {}

  Status run() {
    Status status = declare();
    if (status.ok()) status = choose_order(0);
    if (status.ok()) status = check_values(1);
    if (!status.ok()) return status;
    fill_sources();
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
    status = wait_for_all();
    if (status.ok()) status = check_values(2);
    if (status.ok()) status = worker_.leave();
    if (status.ok()) status = report(times, cpu_used);
    return status;
  }

 private:
  struct Slot {
    Tensor tensor;
    std::vector<float> source;
    std::vector<float> target;
    int priority = 0;
    Ticket ticket;  // What the next use of the tensor waits for.
  };

  bool is_eager() const { return scheme_.flow == Flow::kEager; }
  bool is_late(std::size_t layer) const {
    return scheme_.flow == Flow::kDelayed && layer < task_.settings.late_layers;
  }
  bool pushes_at_once() const {
    return scheme_.flow == Flow::kPushPull || scheme_.flow == Flow::kDelayed;
  }
  // Of this worker; the first also tells that of the servers, and of the kernel's network.
  double cpu_seconds_told() const {
    if (worker_.rank() != 0) return cpu_seconds();
    return cpu_seconds() + cpu_seconds_of(servers_of(::getppid())) + interrupt_seconds();
  }
  Status declare();
  Status choose_order(std::uint32_t iteration);
  void fill_sources();
  Status check_values(float salt);
  Status iterate();
  void hurry_late();
  Status finish_iteration();
  Status wait_for(Slot& slot);
  Status wait_for_all();
  Status report(const std::vector<double>& times, double cpu_used) const;
  void push_pull(Slot& slot) {
    slot.ticket = worker_.push_pull(slot.tensor, slot.source, slot.target, slot.priority);
  }
  void push(Slot& slot) { slot.ticket = worker_.push(slot.tensor, slot.source, slot.priority); }
  void pull_all();

  const ReplayTask task_;
  const Scheme scheme_;
  const Model model_;
  std::vector<std::string> names_;
  std::vector<Slot> slots_;  // As model_.tensors.
  std::vector<Duration> forward_;
  std::vector<Duration> backward_;
  UseRecorder uses_;
  Pace pace_;
  Worker worker_;  // Last: it ends, and with it what is in flight, before the memory.
};

Status ReplayWorker::declare() {
  slots_.resize(model_.tensors.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint64_t elements =
        scaled_elements(model_.tensors[i].elements, task_.settings.scale);
    names_.push_back(model_.tensors[i].name);
    Result<Tensor> tensor =
        worker_.declare(names_.back(), Dtype::kF32, elements,
                        {.mode = is_eager() ? Mode::kEager : Mode::kSync, .bulk = scheme_.bulk});
    if (!tensor.ok()) return tensor.status();
    slots_[i].tensor = *tensor;
    slots_[i].source.resize(elements);
    slots_[i].target.resize(elements);
  }
  const Compute compute = compute_of(task_.settings, model_);
  for (const double share : shares_of(model_)) {
    forward_.push_back(duration_of(share * compute.forward_s));
    backward_.push_back(duration_of(share * compute.backward_s));
  }
  return {};
}

// ---- order

// Random orders are different ones in every iteration, that of first use is known after one.
Status ReplayWorker::choose_order(std::uint32_t iteration) {
  std::string name = order_name(task_.settings, scheme_);
  const bool by_use = name == "first_use";
  const bool settled = name != "random" && !(by_use && iteration == 1);
  if (iteration > 0 && settled) return {};
  if (by_use) name = "arrival";
  const std::uint64_t seed = task_.settings.seed + iteration * worker_.size() + worker_.rank();
  const Result<Order> order = by_use && iteration > 0 ? Result<Order>(uses_.order())
                                                      : make_order(name, task_.settings, model_,
                                                                   task_.bytes_per_second, seed);
  if (!order.ok()) return order.status();
  const Result<std::vector<int>> priorities = (*order)->priorities(names_);
  if (!priorities.ok()) return priorities.status();
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].priority = (*priorities)[i];
  // What is late has time until the next backward: all others of its own iteration go first.
  for (std::size_t i = 0; i < model_.layers.size() && is_late(i); ++i) {
    for (const std::uint32_t tensor : model_.layers[i].tensors) {
      slots_[tensor].priority = std::ranges::min(*priorities) - 1;
    }
  }
  return {};
}

// ---- an iteration

Status ReplayWorker::wait_for(Slot& slot) {
  const bool there = slot.ticket.done();
  Status status = slot.ticket.wait();
  if (!there) pace_.waited();
  return status;
}

Status ReplayWorker::wait_for_all() {
  for (Slot& slot : slots_) {
    if (Status status = wait_for(slot); !status.ok()) return status;
  }
  return {};
}

// Submitted most urgent first, too: the first may leave before the last is there to be compared.
void ReplayWorker::pull_all() {
  std::vector<std::size_t> order(slots_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return slots_[a].priority > slots_[b].priority;
  });
  for (const std::size_t i : order) {
    Slot& slot = slots_[i];
    slot.ticket = worker_.pull(slot.tensor, slot.target, slot.priority);
  }
}

Status ReplayWorker::iterate() {
  Status status;
  for (std::size_t i = 0; i < model_.layers.size(); ++i) {
    for (const std::uint32_t tensor : model_.layers[i].tensors) {
      uses_.used(names_[tensor]);
      if (is_eager() || is_late(i)) continue;  // They are of the iteration before.
      if (status = wait_for(slots_[tensor]); !status.ok()) return status;
    }
    pace_.compute(forward_[i]);
  }
  hurry_late();
  for (std::size_t i = model_.layers.size(); i-- > 0;) {
    pace_.compute(backward_[i]);
    for (const std::uint32_t tensor : model_.layers[i].tensors) {
      if (!pushes_at_once()) continue;
      if (is_late(i)) status = wait_for(slots_[tensor]);
      if (!status.ok()) return status;
      push_pull(slots_[tensor]);
    }
  }
  return finish_iteration();
}

// They are wanted before whatever this backward brings.
void ReplayWorker::hurry_late() {
  for (std::size_t i = 0; i < model_.layers.size() && is_late(i); ++i) {
    for (const std::uint32_t tensor : model_.layers[i].tensors) {
      if (!slots_[tensor].ticket.done()) slots_[tensor].ticket.set_priority(kMostUrgent);
    }
  }
}

Status ReplayWorker::finish_iteration() {
  if (pushes_at_once()) return {};
  if (scheme_.flow == Flow::kSerial) {
    for (Slot& slot : slots_) push(slot);
  }
  if (Status status = wait_for_all(); !status.ok()) return status;
  if (is_eager()) {
    for (Slot& slot : slots_) push_pull(slot);
    return {};
  }
  pull_all();
  return wait_for_all();
}

// ---- what comes of it

// Numbers as gradients have them. In mode eager, which keeps adding, zeros: their sums are checked.
void ReplayWorker::fill_sources() {
  if (is_eager()) return;
  std::mt19937 random(static_cast<std::uint32_t>(task_.settings.seed + worker_.rank()));
  std::normal_distribution<float> gradient(0, 1e-3F);
  for (Slot& slot : slots_) {
    std::ranges::generate(slot.source, [&] { return gradient(random); });
  }
}

// Everybody adds `salt` to tensors that nobody has added anything to since the last check.
Status ReplayWorker::check_values(float salt) {
  for (Slot& slot : slots_) {
    std::fill(slot.source.begin(), slot.source.end(), salt);
    push(slot);
  }
  Status status = wait_for_all();
  if (status.ok()) status = worker_.barrier();
  if (!status.ok()) return status;
  pull_all();
  if (status = wait_for_all(); !status.ok()) return status;
  const float before = is_eager() && salt != 1 ? 1 : 0;
  const float wanted = static_cast<float>(worker_.size()) * (salt + before);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const auto wrong =
        std::ranges::find_if(slot.target, [=](float found) { return found != wanted; });
    if (wrong != slot.target.end()) {
      return {Code::kMalformed, fmt::format("wrong sum: an element of tensor '{}' is {}, wanted {}",
                                            names_[i], *wrong, wanted)};
    }
    std::fill(slot.source.begin(), slot.source.end(), 0.0F);
  }
  return worker_.barrier();
}

Status ReplayWorker::report(const std::vector<double>& times, double cpu_used) const {
  const std::vector<double> late = pace_.lateness_us();
  Report found{.rank = worker_.rank(), .cpu_s = cpu_used};
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

}  // namespace stretto::bench
