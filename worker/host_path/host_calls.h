// SPDX-License-Identifier: Apache-2.0
// HostCalls: parts of group calls whose contributions go to all members, which are on one host:
// this member's contribution, and the value that it makes of all contributions. GroupCalls assigns
// frames to parts.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "van/engine/van.h"
#include "worker/peer_state/group_state.h"
#include "worker/peer_state/peer_tensor.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// A group at this member. Thread: loop.
struct GroupAt {
  TensorState& tensor;
  PeerTensor& known;
  GroupState& state() const { return *known.group; }
};

/// Thread: loop.
class HostCalls {
 public:
  using OpenCallPtr = std::shared_ptr<OpenCall>;
  /// Asks a receiver for its progress, if that is due.
  using Ask = std::function<void(const GroupAt&, collective::Place)>;
  /// Called when a part of a call is done.
  using Done = std::function<void(const GroupAt&, const OpenCallPtr&)>;

  /// All outlive this.
  HostCalls(Van& van, PeerLinks& peers, Ask ask, Done done)
      : van_(van), peers_(peers), ask_(std::move(ask)), done_(std::move(done)) {}

  /// Sends this member's contribution to all others that know the group.
  void give(const GroupAt& at, const OpenCallPtr& call, CallPart& part);
  /// Sends it to this member, which knows the group now.
  void on_ready(const GroupAt& at, const OpenCallPtr& call, CallPart& part, collective::Place to);
  /// Sends it there at once.
  void post(const GroupAt& at, const OpenCall& call, const CallPart& part, collective::Place to);
  /// All members have contributed: the value is made next.
  void add(const GroupAt& at, const OpenCallPtr& call, CallPart& part) {
    whole_.push_back({.at = at, .call = call, .part = &part});
  }
  /// A caller has resumed a call.
  void go_on() { whole_.splice(whole_.end(), held_); }
  /// The group has failed, and its calls with it.
  void drop(const TensorState& tensor);
  /// Makes some of the pending values, the most urgent first.
  void tick();
  /// True if values are pending.
  bool has_whole() const { return !whole_.empty(); }

 private:
  struct Whole {
    GroupAt at;
    OpenCallPtr call;
    CallPart* part = nullptr;
  };

  void offer(const GroupAt& at, const OpenCallPtr& call, const CallPart& part,
             collective::Place to);
  void make(const Whole& whole);

  Van& van_;
  PeerLinks& peers_;
  const Ask ask_;
  const Done done_;
  std::list<Whole> whole_;  // Calls with all contributions.
  std::list<Whole> held_;   // Likewise, but paused by their callers.
};

}  // namespace stretto
