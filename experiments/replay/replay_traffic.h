// SPDX-License-Identifier: Apache-2.0
// What a replayed iteration sends: real tensors through the public API, each by itself or several
// together, all at once or one after the other.
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

/// Exchanges that begin when the one before has ended. Thread: any; ended by drain() before it is
/// destroyed.
class InTurn {
 public:
  using Begin = std::function<Ticket()>;
  void add(Begin begin);
  /// Waits until all have ended; the first error since the last call.
  Status drain();

 private:
  void begin_next();

  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Begin> waiting_;
  bool busy_ = false;
  Status error_;
};

/// The tensors of a model, of which so many elements travel as the settings' scale leaves; by what
/// a scheme says. Errors are those of the worker's operations. Thread: one at a time.
class ReplayTraffic {
 public:
  ReplayTraffic(const ReplaySettings& settings, const Scheme& scheme, const Model& model,
                Worker worker);

  /// `order`: in which the tensors' gradients come; `groups`: how many of them travel together.
  Status declare(const std::vector<std::uint32_t>& order, const std::vector<std::size_t>& groups);
  /// What an exchange of a few bytes takes, in seconds, or adds to others that overlap with it; the
  /// same number at all workers.
  Result<double> measure_start();
  /// Of each tensor. What travels together has that of the most urgent of it.
  void set_priorities(const std::vector<int>& priorities);
  /// Numbers as gradients have them. In mode eager, which keeps adding, zeros: their sums are
  /// checked.
  void fill_sources();

  /// A tensor's gradient has come: it leaves once all that travels with it has come too.
  void ready(std::uint32_t tensor);
  /// True if it had to wait.
  Result<bool> wait_for(std::uint32_t tensor);
  Status wait_for_all();
  void hurry(std::uint32_t tensor, int priority);

  void push_all();
  void pull_all();
  void push_pull_all();

  /// Everybody adds `salt` to tensors that nobody has added anything to since the last check.
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
    std::size_t missing = 0;  // Of their gradients, in this iteration.
    int priority = 0;
    Ticket ticket;  // What the next use of it waits for.
  };
  /// Where a tensor of the model is.
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
  std::vector<float> gradient_;  // What is copied to where it travels with others, and back.
  InTurn line_;
  Worker worker_;  // Last: it ends, and with it what is in flight, before the memory.
};

}  // namespace stretto::bench::experiments
