// SPDX-License-Identifier: Apache-2.0
// HostExchange: the rounds of tensors whose members are all on one host. A member copies its
// contribution once, to memory that peers can read, and sends them its location. Each member adds
// up all contributions, so a round takes one message each way, and no value is returned. Sums run
// in loop iterations of their own: this member's contribution leaves first.
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

  /// Sets up a newly declared tensor for this exchange, if it qualifies.
  static void prepare(const TensorState& tensor, PeerTensor& known);

  /// Starts the next round of the part's current operation.
  void start(const At& at);
  /// Starts the waiting operation, if there is one and the part is free. Makes the value if the
  /// operation is not paused any more.
  void go_on(const At& at);
  /// The worker at this place knows the tensor now.
  void on_ready(TensorState& tensor, PeerTensor& known, Place place);
  /// A frame of the worker at this place.
  void on_data(const At& at, Place from, const wire::Header& header, const Buffer& payload);
  /// Makes some of the pending values.
  void tick();
  /// True if values are pending.
  bool has_whole() const { return !whole_.empty(); }
  /// The workers that are awaited, in words.
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
