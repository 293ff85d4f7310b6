// SPDX-License-Identifier: Apache-2.0
// ExchangeDispatcher: operations on tensors, from the call to the end. The tensor's ExchangeBackend
// carries them out, OperationTable tracks and ends them, Steering applies callers' changes. Links
// and membership are WorkerNode's.
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "observe/trace/trace.h"
#include "van/engine/van.h"
#include "worker/exchange/early_frames.h"
#include "worker/exchange/operation_control.h"
#include "worker/operations/operations.h"
#include "worker/peer_path/peer_exchange.h"
#include "worker/peers/peer_links.h"
#include "worker/server_path/server_exchange.h"

namespace stretto {

/// Thread: loop.
class ExchangeDispatcher {
 public:
  /// Operations use `tensors`, which outlive this, as all references do. Connecting workers
  /// must present `token`.
  ExchangeDispatcher(Van& van, const Clock& clock, Tensors& tensors, Duration operation_timeout,
                     std::unique_ptr<CodecExecutor> coder = std::make_unique<CodecExecutor>(),
                     std::string token = {});

  /// Traces operations and the work of codecs there. It outlives this.
  void set_tracer(Tracer* tracer);

  /// Begins an operation, or ends it at once with an error.
  void start(const OperationPtr& operation);
  /// Applies a change by the operation's caller.
  void steer(const OperationPtr& operation, const detail::Change& change);
  /// What an operation in flight waits for, in words such as "it waits for worker 2"; empty if it
  /// is not in flight.
  std::string missing(const Operation& operation);
  /// Ends all operations on one tensor with an error; later ones fail the same way.
  void fail_tensor(std::uint32_t id, const Status& why);
  /// Ends all operations: when this returns, every ticket has ended. The Van must have been shut
  /// before, so that only codecs, which this stops, read the users' memory.
  void end_all(const Status& why);
  /// Ends operations past their deadline, and ended ones whose memory has become free.
  void tick();

  void on_data(LinkId link, const wire::Header& header, Buffer payload);
  /// Where the value in this frame should be stored; empty if it is unwanted, or not known yet.
  std::span<std::byte> landing(LinkId link, const wire::Header& header);
  /// A message over a link that is no server's. Not ok if a worker that connected, or was connected
  /// to, gets no link: names the reason and the worker.
  Status on_peer(LinkId link, const control::Message& message);
  /// PeerLinks::lose.
  const Member* lose_peer(LinkId link);
  /// Handles early frames of workers whose links are all open now.
  void take_early();

  ServerExchange& servers() { return servers_; }
  PeerExchange& members() { return members_; }
  const PeerExchange& members() const { return members_; }
  PeerLinks& peers() { return peers_; }
  const PeerLinks& peers() const { return peers_; }
  OperationTable& operations() { return operations_; }
  const OperationTable& operations() const { return operations_; }
  const ExchangeProgress& progress() const { return progress_; }

 private:
  OperationEvents outcomes();
  ExchangeBackend& way_of(const TensorState& tensor);
  void give_up(const OperationPtr& operation, const Status& why);
  void keep(const Member& from, EarlyFrames::Frame frame);

  Van& van_;
  const Clock& clock_;
  Tensors& tensors_;
  ExchangeProgress progress_;
  OperationTable operations_;
  ServerExchange servers_;
  PeerLinks peers_;
  PeerExchange members_;
  EarlyFrames early_;
  Steering steering_;
};

}  // namespace stretto
