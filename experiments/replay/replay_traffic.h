// SPDX-License-Identifier: Apache-2.0
// The traffic of a replayed iteration: real tensors through the public API, single or fused, all at
// the same time or one at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "experiments/models/models.h"
#include "experiments/replay/replay_plan.h"
#include "stretto/worker.h"

namespace stretto::bench::experiments {

/// Exchanges that run one at a time. Thread: any. The owner must call drain() before destruction.
class InTurn {
 public:
  using Begin = std::function<Ticket()>;
  void add(Begin begin);
  /// Waits until all have ended; returns the first error since the last call.
  Status drain();

 private:
  void begin_next();

  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Begin> waiting_;
  bool busy_ = false;
  Status error_;
};

/// The tensors of a model, scaled down by the settings and sent as the scheme says. Errors are
/// those of the worker's operations. Thread: one at a time.
class ReplayTraffic {
 public:
  ReplayTraffic(const ReplaySettings& settings, const Scheme& scheme, const Model& model,
                Worker worker);

  /// `order`: the order in which gradients become ready; `groups`: the sizes of consecutive fused
  /// `order`: of the gradients as they become ready; `groups`: sizes of consecutive fused groups.
  Status declare(const std::vector<std::uint32_t>& order, const std::vector<std::size_t>& groups);
  /// The seconds that an exchange of a few bytes takes, or adds to others that overlap it; the same
  /// number at all workers.
  Result<double> measure_start();
  /// Sets the priority of each tensor. A fused group has its highest priority.
  void set_priorities(const std::vector<int>& priorities);
  /// Fills with gradient-like numbers; with zeros in mode eager, which accumulates: the sums are
  /// checked.
  void fill_sources();

  /// A tensor's gradient is ready: it leaves once its whole group is ready.
  void ready(std::uint32_t tensor);
  /// True if it had to wait.
  Result<bool> wait_for(std::uint32_t tensor);
  Status wait_for_all();
  void hurry(std::uint32_t tensor, int priority);

  void push_all();
  void pull_all();
  void push_pull_all();

  /// Every worker adds `salt`; requires that the tensors are unchanged since the last check.
  Status check_values(float salt);

  std::size_t transfers() const { return units_.size(); }
  Worker& worker() { return worker_; }

 private:
  struct Unit {
    Tensor tensor;
    std::string name;
    std::vector<float> source;
    std::vector<float> target;
    std::size_t members = 0;
    std::size_t missing = 0;  // Gradients not ready in this iteration.
    int priority = 0;
    Ticket ticket;  // Waited for before the next use.
  };
  /// The position of a model's tensor.
  struct Place {
    std::size_t unit = 0;
    std::size_t offset = 0;
    std::size_t elements = 0;
  };

  bool is_eager() const { return scheme_.flow == Flow::kEager; }
  Result<Tensor> declare_one(const std::string& name, std::uint64_t elements);
  Result<double> time_of(std::span<const Tensor> tensors, std::vector<std::vector<float>>& numbers);
  Status exchange_all(std::span<const Tensor> tensors, std::vector<std::vector<float>>& numbers);
  void push_pull(Unit& unit);
  void send(Unit& unit);
  Status wait(Unit& unit);

  const ReplaySettings& settings_;
  const Scheme& scheme_;
  const Model& model_;
  std::vector<Unit> units_;
  std::vector<Place> places_;    // As model_.tensors.
  std::vector<float> gradient_;  // Copied into and out of fused groups.
  InTurn line_;
  Worker worker_;  // Last: its end completes operations in flight before the memory is freed.
};

}  // namespace stretto::bench::experiments
