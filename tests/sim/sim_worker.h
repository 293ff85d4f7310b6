// SPDX-License-Identifier: Apache-2.0
// SimWorker: the user of a simulated worker. It follows the plan, checks every value that it
// receives against the oracle, and overwrites lent memory when the ticket ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/plan.h"
#include "worker/node.h"

namespace stretto::sim {

/// Reports a violation of an invariant; only the first one counts.
using Report = std::function<void(const std::string& invariant, const std::string& text)>;

/// The workers that have entered each barrier.
using BarrierBoard = std::map<std::uint32_t, std::set<Rank>>;

/// Thread: the simulation's.
class SimWorker {
 public:
  SimWorker(const Plan& plan, Rank rank, WorkerNode& node, BarrierBoard& board, Report report);

  /// Starts operations that may start now. Call after each step of the node.
  void act();

  /// True once all operations have ended, and the worker has left or the job has failed.
  bool finished() const { return outcome_.has_value() && in_flight_ == 0; }
  /// How it ended; ok if it left in order.
  const std::optional<Status>& outcome() const { return outcome_; }
  std::size_t in_flight() const { return in_flight_; }
  /// The codes with which its operations ended.
  const std::set<Code>& codes() const { return codes_; }
  /// Rounds of a tensor's parts whose pushes have ended with ok.
  std::uint64_t acknowledged(std::size_t tensor) const { return tensors_[tensor].acknowledged; }
  /// Rounds of a tensor that it has begun, or in which it was paused.
  std::uint64_t begun(std::size_t tensor) const { return tensors_[tensor].next_step; }
  bool declared(std::size_t tensor) const { return tensors_[tensor].tensor.has_value(); }

 private:
  struct TensorProgress {
    std::optional<Tensor> tensor;
    bool refused = false;
    std::size_t next_step = 0;
    std::uint64_t acknowledged = 0;
    struct Last {
      std::uint64_t version = 0;    // Of the value of the operation
      std::uint64_t operation = 0;  // begun last of those that have ended.
    };
    Last last;
    Last last_eager_pull;  // These may overtake other operations.
    // Async: the version and all workers' rounds in each element, which grow together.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> last_seen;
  };
  struct Memory {
    std::vector<std::byte> source;
    std::vector<std::byte> target;
    bool in_place = false;
    std::uint64_t operation = 0;  // Its number, in the order of beginning.
  };

  void join();
  void declare_all();
  bool keeps_pace() { return rank_ != plan_.slow || random_.chance(0.3); }
  bool start_something();
  void start_step(std::size_t index);
  void start_pull(std::size_t index);
  void start_probe(std::size_t index);
  void launch(std::size_t index, Operation::Kind kind, std::uint64_t round);
  void give_up_hasty_pulls();
  void ended(std::size_t index, Operation::Kind kind, std::uint64_t round, Memory& memory,
             const Operation& operation, const Status& status);
  void got_value(std::size_t index, Operation::Kind kind, std::uint64_t round, const Memory& memory,
                 const Operation& operation);
  void check_probe(std::size_t index, const ValueInfo& info);
  void check_rounds(std::size_t index, std::uint64_t round, const std::byte* value,
                    const ValueInfo& info);
  void check_growth(std::size_t index, Operation::Kind kind, std::uint64_t round,
                    const std::byte* value, const Operation& operation);
  std::uint64_t check_counts(std::size_t index, std::uint64_t round, std::uint64_t i, double value,
                             std::uint64_t version);
  void enter_barrier();
  void sit_out();
  void change_minds();
  bool all_declared() const;
  bool all_started() const {
    return next_ == plan_.order.size() && final_pulls_ == tensors_.size();
  }

  const Plan& plan_;
  Rank rank_;
  WorkerNode& node_;
  BarrierBoard& board_;
  Report report_;
  Random random_;
  bool joined_ = false;
  std::vector<TensorProgress> tensors_;
  struct Steerable {
    std::weak_ptr<Operation> operation;
    bool paused = false;
  };
  std::vector<Steerable> steerable_;
  std::vector<std::weak_ptr<Operation>> hasty_;  // Pulls that may block what they wait for.
  Time plan_time_{std::chrono::seconds(1000)};
  std::size_t next_ = 0;         // Index into the plan's order.
  std::size_t final_pulls_ = 0;  // After all steps every tensor is read once more.
  std::size_t in_flight_ = 0;
  std::uint32_t barriers_entered_ = 0;
  std::uint32_t barriers_failed_ = 0;
  bool in_barrier_ = false;
  bool sitting_ = false;
  bool sat_out_ = false;
  bool leaving_ = false;
  std::optional<Status> outcome_;
  std::set<Code> codes_;
};

}  // namespace stretto::sim
