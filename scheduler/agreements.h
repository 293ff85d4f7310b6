// SPDX-License-Identifier: Apache-2.0
// Agreements: what the workers of a job must agree about, and how each hears what came of it:
// tensors by name, and barriers.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "common/config.h"
#include "scheduler/barrier.h"
#include "scheduler/node_links.h"
#include "scheduler/registry.h"
#include "scheduler/view_machine.h"
#include "van/van.h"

namespace stretto {

/// Thread: loop.
class Agreements {
 public:
  /// Hears of a barrier to which all have come for a checkpoint of their program's step: it opens
  /// it later.
  using Take = std::function<void(const control::Barrier&, std::uint64_t step)>;

  /// All outlive this.
  Agreements(const Config& config, const Clock& clock, Van& van, const NodeLinks& links,
             ViewMachine& machine, Take checkpoint)
      : config_(config),
        clock_(clock),
        van_(van),
        links_(links),
        machine_(machine),
        checkpoint_(std::move(checkpoint)) {}

  void on_declare(const Member& worker, const control::Declare& declare);
  void on_barrier(const Member& worker, const control::Barrier& barrier);
  /// In an elastic job: who is in may have changed, and with that who is waited for at a barrier.
  void follow_members();
  /// To all workers: all are there.
  void open(const control::Barrier& barrier);
  /// It has left: who waits for it at a barrier waits no longer.
  void left(const Member& absent);

  const Registry& registry() const { return registry_; }

 private:
  void refuse_tensor(const Member& worker, const std::string& name, const Status& why);
  void tell_mismatch(const Registry::Entry& entry);
  std::uint32_t place(const Cut& cut);
  void complete(const control::Barrier& barrier);
  std::set<NodeId> awaited() const;

  const Config& config_;
  const Clock& clock_;
  Van& van_;
  const NodeLinks& links_;
  ViewMachine& machine_;
  const Take checkpoint_;
  Registry registry_;
  Barriers barriers_;
  std::uint64_t step_ = 0;          // Of who was furthest when it came to a barrier.
  std::uint64_t program_step_ = 0;  // As who came last for a checkpoint said it.
};

}  // namespace stretto
