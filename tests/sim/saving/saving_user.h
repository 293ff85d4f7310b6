// SPDX-License-Identifier: Apache-2.0
// SavingUser: the program of a worker. It checks the restored state, makes its steps, and saves
// checkpoints at times, with its own attachments.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/disk_executor.h"
#include "common/files/disk.h"
#include "tests/sim/saving/saving_past.h"
#include "tests/sim/saving/saving_plan.h"
#include "worker/node.h"

namespace stretto::sim {

/// Thread: the simulation's.
class SavingUser {
 public:
  using Report = std::function<void(const std::string& invariant, const std::string& text)>;
  struct Disks {
    Disk& disk;
    checkpoint::DiskExecutor& work;
  };

  SavingUser(const SavingPlan& plan, const SavingPlan::Life& life, std::uint32_t number,
             WorkerNode& node, Disks disks, SavingPast& past, Report report);

  /// Starts operations that may start now. Call after each step of the node.
  void act();
  bool joined() const { return joined_; }
  bool finished() const { return outcome_.has_value() && in_flight_ == 0; }
  const std::optional<Status>& outcome() const { return outcome_; }

 private:
  enum class At : std::uint8_t {
    kJoins,
    kDeclares,
    kLooks,
    kHasLooked,
    kSteps,
    kSaves,
    kLooksAgain,
    kLeaves
  };

  void meet(At then);
  void look_at_all();
  void look_at(std::size_t index, const std::vector<std::int64_t>& got);
  void begin_step();
  void end_step();
  void save();
  void write(const CheckpointShare& share);
  void written(const CheckpointShare& share, const Result<checkpoint::WrittenFile>& file);
  void launch(std::size_t index, Operation::Kind kind);
  bool keeps(std::size_t index) const { return plan_.tensors[index].options.mode != Mode::kSync; }

  const SavingPlan& plan_;
  const SavingPlan::Life& life_;
  const std::uint32_t number_;
  WorkerNode& node_;
  const Disks disks_;
  SavingPast& past_;
  const Report report_;
  const std::uint64_t from_;  // The step that the job resumed from.
  std::vector<std::optional<Tensor>> tensors_;
  At at_ = At::kJoins;
  bool joined_ = false;
  bool waits_ = false;         // At a barrier.
  std::uint64_t made_ = 0;     // The last step that was begun.
  std::size_t in_flight_ = 0;  // Operations.
  std::size_t saving_ = 0;     // Checkpoints.
  Status failed_;
  std::optional<Status> outcome_;
};

}  // namespace stretto::sim
