// SPDX-License-Identifier: Apache-2.0
// RequestDispatcher: the program's requests that this worker has not completed yet: names of
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

/// Thread: loop. Every callback is called exactly once, inside tick(), end_all(), a message handler
/// or the call that it was given to.
class RequestDispatcher {
 public:
  using Done = std::function<void(const Status&)>;
  using Declared = Declarations::Declared;

  /// All but the coder, which runs the codecs, outlive this.
  RequestDispatcher(const Config& config, const Clock& clock, Van& van,
                    const MembershipClient& membership, ShardLinks& shards, TraceAgent& trace,
                    std::unique_ptr<CodecExecutor> coder);

  void declare(TensorSpec spec, Declared done, std::vector<Rank> group = {});
  void start(const OperationPtr& operation);
  /// Applies a change to an operation that was started, unless it has ended.
  void steer(const OperationPtr& operation, const detail::Change& change) {
    exchange_.steer(operation, change);
  }
  /// Saves and loads what the servers' update rule remembers of a tensor; worker.h has the
  /// contract.
  void save_state(const Tensor& tensor, OptimizerStateTransfer::Saved done);
  void load_state(const Tensor& tensor, std::span<const std::byte> state, const Done& done);
  void barrier(const Done& done);
  /// A barrier until which this worker contributes empty to rounds that want it. Its result is the
  /// rank of the last worker to arrive. No other call may begin meanwhile.
  void sit_out(BarrierCalls::Done done);

  CheckpointCalls& checkpoints() { return checkpoints_; }
  /// The steps of the program.
  StepTracker& steps() { return steps_; }

  /// Refuses every later call, for this reason.
  void refuse(const Status& why) { refusal_ = why; }
  const Status& refusal() const { return refusal_; }
  /// Ends all calls. The Van must have been shut before.
  void end_all(const Status& why);

  void on_scheduler(const control::Message& message);
  void on_shard(LinkId link, const control::Message& message, const Member& shard);
  ExchangeDispatcher& exchange() { return exchange_; }

  /// `others_pause`: calls Patience::excuse for all calls that wait for other workers.
  void tick(bool others_pause = false);
  Time next_due() const;
  bool idle() const;
  /// What heartbeats report: the progress, and the call in which it has waited for a heartbeat or
  /// longer. The activity has what is known here.
  Heartbeats::Progress progress() const;
  /// When the call began in which it has waited for that long; Time(): there is none.
  Time waits_since() const;
  /// The root cause if the job ended now with this error: a member may have left because of a
  /// disagreement about a tensor, before this worker was told of that.
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
  bool goes_on_ = false;  // The job resumed from a checkpoint, and tensors know it.
  Status refusal_;
  Status disagreement_;  // The last about a tensor, and when it was reported.
  Time disagreed_at_ = {};
};

}  // namespace stretto
