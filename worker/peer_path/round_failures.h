// SPDX-License-Identifier: Apache-2.0
// RoundFailures: which rounds among workers cannot be made any more, because a worker has left or
// its tensor has failed. It tells the other workers. In an elastic job rounds are made without
// departed workers, so none fails.
#pragma once

#include <map>
#include <unordered_map>

#include "core/roster.h"
#include "van/engine/van.h"
#include "worker/operations/exchange_backend.h"
#include "worker/peer_state/peer_tensor.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// By tensor.
using PeerTensors = std::unordered_map<std::uint32_t, PeerTensor>;

/// Thread: loop.
class RoundFailures {
 public:
  /// All outlive this.
  RoundFailures(PeerLinks& peers, const Tensors& tensors, PeerTensors& members,
                const OperationEvents& outcomes)
      : peers_(peers), tensors_(tensors), members_(members), outcomes_(outcomes) {}

  /// Applies faults that arrived before the tensor was known here.
  void adopt(std::uint32_t id, PeerTensor& known);
  /// Sends a member the faults that it missed while there was no link to it.
  void greet(const TensorState& tensor, const PeerTensor& known, LinkId link) const;
  void greet(LinkId link) const;
  void on_fault(const Member& peer, const control::Fault& fault);
  void on_leave(const Member& peer);
  /// Takes workers that left before there was a link to them from the roster.
  void follow(const Roster& roster);
  /// This worker stops making rounds: tells the others which rounds it will not make, also those
  /// whose links open later.
  void leave();
  /// The tensor has failed here: drops its state, and tells the others.
  void failed(const TensorState& tensor, const Status& why);

 private:
  using Place = collective::Place;

  void doom(std::uint32_t id, PeerTensor& known, PeerTensor::RoundFailure doom);
  void end_for_sends(std::uint32_t id, PeerTensor& known, const Status& why);
  bool is_failed(std::uint32_t id) const { return !tensors_.find(id)->failed.ok(); }

  PeerLinks& peers_;
  const Tensors& tensors_;
  PeerTensors& members_;
  const OperationEvents& outcomes_;
  std::map<std::uint32_t, PeerTensor::RoundFailure>
      dooms_;  // Of tensors that are not known here yet.
  std::map<NodeId, Status> left_;
  bool leaving_ = false;
  // The epoch of the last roster, and the number of links that had ended.
  std::pair<std::uint32_t, std::uint64_t> followed_;
};

}  // namespace stretto
