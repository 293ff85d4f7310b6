// SPDX-License-Identifier: Apache-2.0
// RequestDispatcher: what the program has asked of this worker and has not got yet: names of
// tensors, operations, states, barriers. Links and membership are WorkerNode's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/clock.h"
#include "common/config/config.h"
#include "van/engine/van.h"
#include "van/membership/membership_client.h"
#include "van/membership/trace_agent.h"
#include "worker/barriers/barrier_calls.h"
#include "worker/barriers/empty_contributor.h"
#include "worker/checkpoint/checkpoint_calls.h"
#include "worker/elastic/step_tracker.h"
#include "worker/exchange/declarations.h"
#include "worker/exchange/exchange_dispatcher.h"
#include "worker/server_path/optimizer_state_transfer.h"
#include "worker/server_path/shard_links.h"

namespace stretto {

/// Thread: loop. Every callback is called exactly once, inside tick(), end_all(), what has come or
/// the call it was given to.
class RequestDispatcher {
 public:
  using Done = std::function<void(const Status&)>;
  using Declared = Declarations::Declared;

  /// All but the coder, which is where codecs run, outlive this.
  RequestDispatcher(const Config& config, const Clock& clock, Van& van,
                    const MembershipClient& membership, ShardLinks& shards, TraceAgent& trace,
                    std::unique_ptr<CodecExecutor> coder);

  void declare(TensorSpec spec, Declared done, std::vector<Rank> group = {});
  void start(const OperationPtr& operation);
  /// Changes what is wanted of an operation that was started, unless it has ended.
  void steer(const OperationPtr& operation, const detail::Change& change) {
    exchange_.steer(operation, change);
  }
  /// What the servers' update rule remembers of a tensor, and back; worker.h says what of it
  /// counts.
  void save_state(const Tensor& tensor, OptimizerStateTransfer::Saved done);
  void load_state(const Tensor& tensor, std::span<const std::byte> state, const Done& done);
  void barrier(const Done& done);
  /// A barrier until which this worker's shares are empty ones, made as rounds want them. Its
  /// result is the rank of who came last. Nothing else may be begun meanwhile.
  void sit_out(BarrierCalls::Done done);

  CheckpointCalls& checkpoints() { return checkpoints_; }
  /// Where its steps begin.
  StepTracker& steps() { return steps_; }

  /// From now on nothing is begun, for this reason.
  void refuse(const Status& why) { refusal_ = why; }
  const Status& refusal() const { return refusal_; }
  /// Ends everything. The Van must have been shut before.
  void end_all(const Status& why);

  void on_scheduler(const control::Message& message);
  void on_shard(LinkId link, const control::Message& message, const Member& shard);
  ExchangeDispatcher& exchange() { return exchange_; }

  /// `others_pause`: Patience::excuse, for all calls that wait for other workers.
  void tick(bool others_pause = false);
  Time next_due() const;
  bool idle() const;
  /// What heartbeats tell of it: how far it is, and what it has waited in for one or longer. Of the
  /// activity all that it knows.
  Heartbeats::Progress progress() const;
  /// When that was begun which it has waited in for so long; Time(): it waits in nothing.
  Time waits_since() const;
  /// Why a job that ended now with this error did: who else heard of a disagreement about a tensor
  /// may have gone because of it, before we could be told.
  Status cause_of(const Status& error) const;

 private:
  void on_fault(const control::Fault& fault, const std::string& peer);
  control::Activity activity(const Operation* oldest) const;
  Result<OptimizerStateTransfer::Target> target_of(const Tensor& tensor) const;

  const Clock& clock_;
  Van& van_;
  const MembershipClient& membership_;
  ShardLinks& shards_;
  Tensors tensors_;
  ExchangeDispatcher exchange_;
  OptimizerStateTransfer states_;
  Declarations declarations_;
  EmptyContributor stand_in_;
  BarrierCalls barriers_;
  CheckpointCalls checkpoints_;
  StepTracker steps_;
  bool goes_on_ = false;  // From a checkpoint, and tensors know it.
  Status refusal_;
  Status disagreement_;  // The last about a tensor, and when we were told.
  Time disagreed_at_ = {};
};

}  // namespace stretto
