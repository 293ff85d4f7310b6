// SPDX-License-Identifier: Apache-2.0
// HostCalls: parts of a group's calls whose contributions go to all members, which are on one host:
// what this member gives, and the value that it makes of what all have given. Which frames are of
// which part is GroupCalls's.
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
  /// Asks how far a receiver is, if that is due.
  using Ask = std::function<void(const GroupAt&, collective::Place)>;
  /// Hears that a part of a call is done.
  using Done = std::function<void(const GroupAt&, const OpenCallPtr&)>;

  /// All outlive this.
  HostCalls(Van& van, PeerLinks& peers, Ask ask, Done done)
      : van_(van), peers_(peers), ask_(std::move(ask)), done_(std::move(done)) {}

  /// This member's contribution goes to all others that know the group.
  void give(const GroupAt& at, const OpenCallPtr& call, CallPart& part);
  /// It goes to this one, which knows the group now.
  void on_ready(const GroupAt& at, const OpenCallPtr& call, CallPart& part, collective::Place to);
  /// It goes there at once.
  void post(const GroupAt& at, const OpenCall& call, const CallPart& part, collective::Place to);
  /// All have given: the value is made next.
  void add(const GroupAt& at, const OpenCallPtr& call, CallPart& part) {
    whole_.push_back({.at = at, .call = call, .part = &part});
  }
  /// A caller does not hold a call back any more.
  void go_on() { whole_.splice(whole_.end(), held_); }
  /// The group has failed, and its calls with it.
  void drop(const TensorState& tensor);
  /// Makes some of the values that can be made, the most urgent first.
  void tick();
  /// There are more.
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
  std::list<Whole> whole_;  // All have given.
  std::list<Whole> held_;   // The same, and their callers hold them back.
};

}  // namespace stretto
