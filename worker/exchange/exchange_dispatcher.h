// SPDX-License-Identifier: Apache-2.0
// ExchangeDispatcher: operations on tensors, from the call to the end. How one is carried out is
// its tensor's way's; which are in flight and how they end, Operations'; what changes when a caller
// does, Steering's. Links and membership are WorkerNode's.
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
  /// `tensors` are those that operations may be on; they, and the rest, outlive this. Other workers
  /// that call are to have this token.
  ExchangeDispatcher(Van& van, const Clock& clock, Tensors& tensors, Duration operation_timeout,
                     std::unique_ptr<CodecExecutor> coder = std::make_unique<CodecExecutor>(),
                     std::string token = {});

  /// Operations and the work of codecs are noted there. It outlives this.
  void set_tracer(Tracer* tracer);

  /// Begins an operation, or ends it at once with an error.
  void start(const OperationPtr& operation);
  /// The caller of an operation has changed their mind.
  void steer(const OperationPtr& operation, const detail::Change& change);
  /// What an operation that is in flight waits for, in words such as "it waits for worker 2"; empty
  /// if it is not in flight.
  std::string missing(const Operation& operation);
  /// Ends everything of one tensor with an error; later operations on it fail the same way.
  void fail_tensor(std::uint32_t id, const Status& why);
  /// Ends everything: when this returns every ticket has ended. The Van must have been shut before,
  /// so that nobody but codecs, which this stops, reads the users' memory.
  void end_all(const Status& why);
  /// Ends what is past its deadline, and ended operations whose memory is free at last.
  void tick();

  void on_data(LinkId link, const wire::Header& header, Buffer payload);
  /// Where the value in the frame of this header is wanted; empty if it is not, or not yet known.
  std::span<std::byte> landing(LinkId link, const wire::Header& header);
  /// What comes over a link that is no server's. Not ok if who called, or was called, will have no
  /// link: why, and who.
  Status on_peer(LinkId link, const control::Message& message);
  /// PeerLinks::lose.
  const Member* lose_peer(LinkId link);
  /// Takes what came from workers before all of their links were open, once they are.
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
