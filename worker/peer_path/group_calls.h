// SPDX-License-Identifier: Apache-2.0
// GroupCalls: calls that the members of a group make together: contributions go up, values come
// down. A part's Reduction decides its next action, and this class carries it out over links.
#pragma once

#include <string>

#include "van/engine/van.h"
#include "worker/host_path/host_calls.h"
#include "worker/operations/exchange_backend.h"
#include "worker/peer_path/progress_frame.h"
#include "worker/peer_state/group_state.h"
#include "worker/peer_state/peer_tensor.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// Thread: loop.
class GroupCalls {
 public:
  using Place = collective::Place;
  using At = GroupAt;

  /// All outlive this.
  GroupCalls(Van& van, PeerLinks& peers, const OperationEvents& outcomes)
      : van_(van),
        peers_(peers),
        outcomes_(outcomes),
        to_all_(
            van, peers, [this](const At& at, Place peer) { ask(at, peer); },
            [this](const At& at, const OpenCallPtr& call) { part_done(at, call); }) {}

  /// Why this member cannot make the call, or ok.
  static Status refusal(const PeerTensor& known, const GroupCallArgs& call);
  /// The members whose contributions this member's call lacks, in words.
  static std::string missing(const PeerTensor& known, const Operation& operation);
  void start(const At& at, const OperationPtr& operation);
  /// The parent knows the group now: sends sums that waited for that.
  void send_to(const At& at, Place parent);
  /// Parts whose contributions go to all.
  HostCalls& to_all() { return to_all_; }
  const HostCalls& to_all() const { return to_all_; }
  void on_data(const At& at, Place from, const wire::Header& header, Buffer payload);
  /// Where the value in this frame should be stored; empty if it is unwanted, or not known yet.
  static std::span<std::byte> landing(const At& at, Place from, const wire::Header& header);

 private:
  using OpenCallPtr = std::shared_ptr<OpenCall>;

  OpenCallPtr open(const At& at, const OperationPtr& operation, CallPlan plan);
  void take(const At& at, const OpenCallPtr& call, GroupState::Early frame);
  void on_up(const At& at, const OpenCallPtr& call, CallPart& part, GroupState::Early frame);
  void on_down(const At& at, const OpenCallPtr& call, CallPart& part,
               const GroupState::Early& frame);
  void carry_out(const At& at, const OpenCallPtr& call, CallPart& part,
                 const collective::Effects& effects);
  void send_up(const At& at, const OpenCallPtr& call, CallPart& part);
  void send_down(const At& at, const OpenCallPtr& call, CallPart& part);
  void post(const At& at, const OpenCall& call, const CallPart& part, Place to, bool up);
  void note_begun(const At& at, Place peer, std::uint64_t number);
  void ask(const At& at, Place peer);
  void answer(const At& at);
  void tell(const At& at, Place to, ProgressFrame frame);
  void on_progress(const At& at, Place from, const ProgressFrame& frame);
  void part_done(const At& at, const OpenCallPtr& call);
  void disagree(const At& at, Place from, const GroupCall& own, const GroupCall& theirs,
                const CallId& id);
  void fail(const At& at, Place from, const Status& why);

  Van& van_;
  PeerLinks& peers_;
  const OperationEvents& outcomes_;
  HostCalls to_all_;
};

}  // namespace stretto
