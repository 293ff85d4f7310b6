// SPDX-License-Identifier: Apache-2.0
// RoundFailures: which rounds among workers cannot be made any more, because somebody has left or
// its tensor has failed, and what the others are told of that. In an elastic job they are made
// without who has left, so that nothing ends.
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
using MemberTensors = std::unordered_map<std::uint32_t, PeerTensor>;

/// Thread: loop.
class RoundFailures {
 public:
  /// All outlive this.
  RoundFailures(PeerLinks& peers, const Tensors& tensors, MemberTensors& members,
                const OperationEvents& outcomes)
      : peers_(peers), tensors_(tensors), members_(members), outcomes_(outcomes) {}

  /// What was said of a tensor before it was known here.
  void adopt(std::uint32_t id, PeerTensor& known);
  /// A member learns what it would have been told, had there been a link to it.
  void greet(const TensorState& tensor, const PeerTensor& known, LinkId link) const;
  void greet(LinkId link) const;
  void on_fault(const Member& peer, const control::Fault& fault);
  void on_leave(const Member& peer);
  /// Who has left before it knew that there was a link is known by the roster alone.
  void follow(const Roster& roster);
  /// This worker makes no rounds any more: the others hear which ones there will not be, those too
  /// whose links open later.
  void leave();
  /// The tensor has failed here: nothing is kept for it, and the others hear.
  void failed(const TensorState& tensor, const Status& why);

 private:
  using Place = collective::Place;

  void doom(std::uint32_t id, PeerTensor& known, PeerTensor::RoundFailure doom);
  void end_for_sends(std::uint32_t id, PeerTensor& known, const Status& why);
  bool is_failed(std::uint32_t id) const { return !tensors_.find(id)->failed.ok(); }

  PeerLinks& peers_;
  const Tensors& tensors_;
  MemberTensors& members_;
  const OperationEvents& outcomes_;
  std::map<std::uint32_t, PeerTensor::RoundFailure>
      dooms_;  // Of tensors that are not known here yet.
  std::map<NodeId, Status> left_;
  bool leaving_ = false;
  // The epoch of the roster that was looked at last, and how many links had ended.
  std::pair<std::uint32_t, std::uint64_t> followed_;
};

}  // namespace stretto
