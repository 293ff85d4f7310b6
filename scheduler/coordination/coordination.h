// SPDX-License-Identifier: Apache-2.0
// Coordination: what the workers of a job must agree about, and how each hears what came of it:
// tensors by name, and barriers.
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

/// What all workers want who have come to a barrier for a checkpoint.
struct CheckpointCall {
  std::uint64_t step = 0;            ///< Of the program.
  std::vector<NodeId> workers = {};  ///< By rank.
  bool alike = true;                 ///< What they hold alike, as they say, is.
};

/// Thread: loop.
class Coordination {
 public:
  /// Hears of a barrier to which all have come for a checkpoint: it opens it later.
  using Take = std::function<void(const control::Barrier&, CheckpointCall call)>;
  /// Hears that a worker has left a barrier that all have come to, and that is not open yet.
  using Withdrawn = std::function<void(std::uint64_t number)>;

  /// Tell a worker that has not heard that a barrier for an attempt at a checkpoint has opened what
  /// it is to write, before it does, and what has come of that, after it.
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
  /// In an elastic job: who is in may have changed, and with that who is waited for at a barrier.
  void follow_members();
  /// To all workers: all are there.
  void open(const control::Barrier& barrier);
  /// It has left: who waits for it at a barrier waits no longer.
  void left(const Member& absent);

  void set_late(Late late) { late_ = std::move(late); }
  /// A scheduler before this one had agreed on it,
  void declared_before(Rank worker, const TensorSpec& spec);
  /// and had opened this. And from now on members tell of what it has.
  void opened_before(const control::Barrier& barrier);
  void go_on();
  /// The barrier that was opened last.
  const control::Barrier& opened() const { return opened_; }

  /// The checkpoint that the job goes on from has these tensors. Before it begins.
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
  std::uint64_t step_ = 0;                 // Of who was furthest when it came to a barrier.
  control::Barrier opened_;                // The last,
  bool opened_before_ = false;             // by a scheduler before this one.
  bool goes_on_ = false;                   // In the place of that.
  std::map<NodeId, std::uint64_t> alike_;  // Digests, of who came for the next checkpoint.
  std::set<std::string> restored_;         // Tensors of the checkpoint that the job goes on from.
};

}  // namespace stretto
