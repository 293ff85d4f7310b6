// SPDX-License-Identifier: Apache-2.0
// Coordination: what the workers of a job must agree on, and the answers to each: tensors by name,
// and barriers.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config.h"
#include "scheduler/coordination/barriers.h"
#include "scheduler/coordination/tensor_registry.h"
#include "scheduler/journal/membership_journal.h"
#include "scheduler/membership/view_machine.h"
#include "scheduler/sessions/node_links.h"
#include "van/engine/van.h"

namespace stretto {

/// The checkpoint of a barrier that all workers have come to.
struct CheckpointCall {
  std::uint64_t step = 0;            ///< Of the program.
  std::vector<NodeId> workers = {};  ///< By rank.
  bool alike = true;                 ///< Their replicated attachments agree.
};

/// Thread: loop.
class Coordination {
 public:
  /// Called when all workers have come to a barrier for a checkpoint; the callee opens it later.
  using Take = std::function<void(const control::Barrier&, CheckpointCall call)>;
  /// Called when a worker leaves a complete barrier that is not open yet.
  using Withdrawn = std::function<void(std::uint64_t number)>;

  /// For a worker that missed the opening of a checkpoint's barrier: `cut` sends what it must
  /// write, before the opening, and `ended` the result, after it.
  struct Late {
    std::function<void(NodeId, std::uint64_t attempt)> cut;
    std::function<void(NodeId, std::uint64_t attempt)> ended;
  };

  /// All outlive this.
  Coordination(const Config& config, const Clock& clock, Van& van, const NodeLinks& links,
               ViewMachine& machine, MembershipJournal& chronicle, Take checkpoint,
               Withdrawn withdrawn)
      : config_(config),
        clock_(clock),
        van_(van),
        links_(links),
        machine_(machine),
        chronicle_(chronicle),
        checkpoint_(std::move(checkpoint)),
        withdrawn_(std::move(withdrawn)) {}

  void on_declare(const Member& worker, const control::Declare& declare);
  void on_barrier(const Member& worker, const control::Barrier& barrier);
  /// In an elastic job: the members may have changed, and so the nodes awaited at a barrier.
  void follow_members();
  /// Tells all workers that the barrier is open.
  void open(const control::Barrier& barrier);
  /// It has left: workers that wait for it at a barrier stop waiting.
  void left(const Member& absent);

  void set_late(Late late) { late_ = std::move(late); }
  /// The previous scheduler had registered this tensor,
  void declared_before(Rank worker, const TensorSpec& spec);
  /// and had opened this barrier. From go_on() on, members may report barriers it has opened.
  void opened_before(const control::Barrier& barrier);
  void go_on();
  /// The barrier that was opened last.
  const control::Barrier& opened() const { return opened_; }

  /// The restored checkpoint has these tensors. Call before the job starts.
  void set_restored(std::set<std::string> names) { restored_ = std::move(names); }
  const TensorRegistry& registry() const { return registry_; }

 private:
  void refuse_tensor(const Member& worker, const std::string& name, const Status& why);
  void tell_mismatch(const TensorRegistry::Entry& entry);
  std::uint32_t place(const Cut& cut, const TensorSpec& spec);
  void complete(const control::Barrier& barrier, std::uint64_t step);
  void withdraw(const Member& worker, std::uint64_t number);
  std::set<NodeId> awaited() const;
  void answer_late(NodeId worker);
  CheckpointCall call_of(std::uint64_t step) const;

  const Config& config_;
  const Clock& clock_;
  Van& van_;
  const NodeLinks& links_;
  ViewMachine& machine_;
  MembershipJournal& chronicle_;
  const Take checkpoint_;
  const Withdrawn withdrawn_;
  Late late_;
  TensorRegistry registry_;
  Barriers barriers_;
  std::uint64_t step_ = 0;                 // Highest step of a worker at a barrier.
  control::Barrier opened_;                // The last opened barrier,
  bool opened_before_ = false;             // opened by a previous scheduler.
  bool goes_on_ = false;                   // This scheduler has replaced another one.
  std::map<NodeId, std::uint64_t> alike_;  // Digests of workers at the next checkpoint.
  std::set<std::string> restored_;         // Tensors of the restored checkpoint.
};

}  // namespace stretto
