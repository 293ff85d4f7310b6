// SPDX-License-Identifier: Apache-2.0
// Declarations: tensors that this worker has declared and the scheduler has not confirmed yet:
// whether all workers describe the same tensor, and which server owns which part.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config/config.h"
#include "van/control/control.h"
#include "worker/operations/tensor_table.h"
#include "worker/server_path/shard_links.h"

namespace stretto {

/// Announces a tensor to a shard, before its first contribution.
inline control::Open open_of(const TensorState& tensor) {
  return {.tensor = tensor.id, .spec = tensor.spec, .first_slot = tensor.first_slot};
}

/// Thread: loop.
class Declarations {
 public:
  using Declared = std::function<void(const Result<Tensor>&)>;
  /// Callbacks to the owner.
  struct Ways {
    std::function<void(const control::Declare&)> tell_scheduler;
    std::function<void(LinkId, const control::Open&)> tell_shard;
    std::function<void(std::uint32_t, const std::string&)> named;  ///< A tensor's number and name.
    /// Resolves the exchange of a specification that leaves it open
    /// (worker/peer_state/exchange_selection.h).
    std::function<TensorSpec(TensorSpec, const std::vector<Rank>&)> settle;
    /// Why this job cannot have such a tensor, checked before it is announced; or ok.
    std::function<Status(const TensorSpec&)> fits;
    /// Sets up the exchange of a tensor among workers, or returns why it cannot be.
    std::function<Status(TensorState&, const Roster&, const std::vector<Rank>&)> join_workers;
  };

  /// Confirmed tensors are added to `tensors`. All outlive this.
  Declarations(const Config& config, const Clock& clock, const ShardLinks& shards, Tensors& tensors,
               Ways ways)
      : config_(config),
        clock_(clock),
        shards_(shards),
        tensors_(tensors),
        ways_(std::move(ways)) {}

  /// Calls `done` at once for a known tensor.
  /// A group's calls are made among workers of these ranks; without ranks it is a tensor.
  void declare(TensorSpec spec, Declared done, std::vector<Rank> group = {});
  /// The scheduler's answer to a worker of this rank.
  void on_declared(const control::Declared& declared, const Roster& roster, Rank rank);
  void on_refused(const std::string& name, const Status& why);
  /// Repeats pending declarations to a restarted scheduler, which may lack them.
  void tell_again() const;
  /// Fails declarations that the scheduler did not answer in time.
  void tick();
  Time next_due() const;
  bool idle() const { return pending_.empty(); }
  /// Ends all.
  void end_all(const Status& why);

 private:
  struct Pending {
    TensorSpec spec;
    std::vector<Declared> done;
    Time deadline;
    std::vector<Rank> group;
  };
  Result<Tensor> add(const Pending& pending, const control::Declared& declared,
                     const Roster& roster, Rank rank);
  Result<Tensor> add_among_workers(const Pending& pending, std::uint32_t id, const Roster& roster);

  const Config& config_;
  const Clock& clock_;
  const ShardLinks& shards_;
  Tensors& tensors_;
  Ways ways_;
  std::map<std::string, Pending> pending_;
};

}  // namespace stretto
