// SPDX-License-Identifier: Apache-2.0
// Exchanges: operations on tensors, from the call to the end. How one is carried out is its
// tensor's way's; which are in flight and how they end, Operations'; what changes when a caller
// does, Steering's. Links and membership are WorkerNode's.
#pragma once

#include <memory>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "van/van.h"
#include "worker/operations.h"
#include "worker/server_exchange.h"
#include "worker/steering.h"

namespace stretto {

/// Thread: loop.
class Exchanges {
 public:
  /// `tensors` are those that operations may be on; they, and the rest, outlive this.
  Exchanges(Van& van, const Clock& clock, Tensors& tensors, Duration operation_timeout,
            std::unique_ptr<Coder> coder = std::make_unique<Coder>());

  /// Operations and the work of codecs are noted there. It outlives this.
  void set_tracer(Tracer* tracer);
  /// Operations::set_elsewhere.
  void set_elsewhere(const std::string& words) { operations_.set_elsewhere(words); }

  /// Begins an operation, or ends it at once with an error.
  void start(const OperationPtr& operation);
  /// The caller of an operation has changed their mind.
  void steer(const OperationPtr& operation, const detail::Change& change);
  /// Ends everything of one tensor with an error; later operations on it fail the same way.
  void fail_tensor(std::uint32_t id, const Status& why);
  /// Ends everything: when this returns every ticket has ended. The Van must have been shut before,
  /// so that nobody but codecs, which this stops, reads the users' memory.
  void end_all(const Status& why);
  /// Ends what is past its deadline, and ended operations whose memory is free at last.
  void tick();

  /// What comes from servers is its.
  ServerExchange& servers() { return servers_; }
  /// The way of tensors that are not exchanged through servers; it is told `outcomes()`, and
  /// outlives this. Before the first of them.
  void set_members(ExchangeWay& members) { members_ = &members; }
  Outcomes outcomes();
  const Operations& operations() const { return operations_; }
  const ExchangeProgress& progress() const { return progress_; }

 private:
  ExchangeWay& way_of(const TensorState& tensor);
  Status refusal_of(const Operation& operation);
  void give_up(const OperationPtr& operation, const Status& why);

  Van& van_;
  const Clock& clock_;
  Tensors& tensors_;
  ExchangeProgress progress_;
  Operations operations_;
  ServerExchange servers_;
  ExchangeWay* members_ = nullptr;
  Steering steering_;
};

}  // namespace stretto
