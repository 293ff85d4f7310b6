// SPDX-License-Identifier: Apache-2.0
// ReturnsUser: the program of a worker whose servers fail and are restarted. It runs the plan's
// rounds without any regard to failures, and checks every element of every value.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/servers/returns_plan.h"
#include "worker/node.h"

namespace stretto::sim {

/// Thread: the simulation's.
class ReturnsUser {
 public:
  using Report = std::function<void(const std::string& invariant, const std::string& text)>;

  ReturnsUser(const ReturnsPlan& plan, std::uint32_t number, WorkerNode& node, std::uint64_t seed,
              Report report);

  /// Starts all operations that can start now. Call after each step of the node.
  void act();
  bool joined() const { return joined_; }
  bool finished() const { return outcome_.has_value() && in_flight_ == 0; }
  /// How it ended; ok if all its rounds were right and it left normally.
  const std::optional<Status>& outcome() const { return outcome_; }
  std::uint64_t values() const { return values_; }

 private:
  struct Memory;  // Of one operation.
  struct Progress {
    std::optional<Tensor> tensor;
    bool declared = false;  ///< Declared, or requested.
    std::uint64_t begun = 0;
    std::uint32_t in_flight = 0;
  };

  void declare(std::size_t index);
  void finish();
  void look_at_all();
  void leave();
  std::uint64_t may_begin() const;
  bool meet();
  void start_round(std::size_t index);
  void launch(std::size_t index, Operation::Kind kind, std::uint64_t round);
  void look_at(std::size_t index, const Operation& operation, std::uint64_t round,
               const std::vector<std::int64_t>& got);

  const ReturnsPlan& plan_;
  const std::uint32_t number_;
  WorkerNode& node_;
  Random random_;
  const Report report_;
  std::vector<Progress> tensors_;
  std::size_t in_flight_ = 0;
  std::size_t last_looks_ = 0;  // Pending reads of values after all rounds.
  std::uint64_t values_ = 0;
  bool joined_ = false;
  bool leaving_ = false;
  std::uint64_t met_ = 0;  // Intermediate barriers entered,
  bool meeting_ = false;   // and whether it is at one now.
  Status failed_;
  std::optional<Status> outcome_;
};

}  // namespace stretto::sim
