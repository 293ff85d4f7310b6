// SPDX-License-Identifier: Apache-2.0
// HostExchange: the rounds of tensors whose members are all on one host. A member copies its
// contribution once, to memory that the others can read, and tells them where it lies; each adds up
// all contributions itself. So a round takes one message each way, and no value comes back. Sums
// are made in turns of the loop of their own: what this member gives leaves before.
#pragma once

#include <list>
#include <string>

#include "van/engine/van.h"
#include "worker/operations/exchange_backend.h"
#include "worker/peer_state/peer_part.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// Thread: loop.
class HostExchange {
 public:
  using At = PeerPartRef;
  using Place = collective::Place;

  /// All outlive this.
  HostExchange(Van& van, PeerLinks& peers, const OperationEvents& outcomes)
      : van_(van), peers_(peers), outcomes_(outcomes) {}

  /// The tensor, which is known since now, goes to all, if it may.
  static void prepare(const TensorState& tensor, PeerTensor& known);

  /// The part's current operation comes to its next round.
  void start(const At& at);
  /// So does the one that waits, if there is one and the part is free; and the value is made if
  /// nobody holds the operation back any more.
  void go_on(const At& at);
  /// The worker at this place knows the tensor now.
  void on_ready(TensorState& tensor, PeerTensor& known, Place place);
  /// A frame of the worker at this place.
  void on_data(const At& at, Place from, const wire::Header& header, const Buffer& payload);
  /// Makes some of the values that can be made.
  void tick();
  /// There are more.
  bool has_whole() const { return !whole_.empty(); }
  /// Who is waited for.
  static std::string missing(const PeerTensor& known);

 private:
  struct Whole {
    TensorState* tensor = nullptr;
    PeerTensor* known = nullptr;
    std::uint32_t part = 0;
    std::int32_t priority = 0;
  };

  void start_next(const At& at);
  void give(const At& at, Place to);
  bool agree(const At& at);
  bool is_held(const Operation& operation) const;
  void settle(const At& at);
  void make(const At& at);
  void end_operation(const At& at);
  void fail(const At& at, Place from, const Status& why);

  Van& van_;
  PeerLinks& peers_;
  const OperationEvents& outcomes_;
  std::list<Whole> whole_;
};

}  // namespace stretto
