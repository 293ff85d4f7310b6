// SPDX-License-Identifier: Apache-2.0
// QuorumExchange: the rounds of tensors that may close before all have contributed
// (TensorOptions::close). All workers send a part to its root. The root adds up what counts, closes
// the round, and sends its value to all workers. A worker that has not reached that round yet takes
// the value when it does. collective::QuorumRounds decides when a round may close.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "van/engine/van.h"
#include "worker/operations/exchange_backend.h"
#include "worker/peer_state/peer_part.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// Thread: loop.
class QuorumExchange {
 public:
  using At = PeerPartRef;
  using Place = collective::Place;

  /// All outlive this.
  QuorumExchange(Van& van, PeerLinks& peers, const OperationEvents& outcomes)
      : van_(van), peers_(peers), outcomes_(outcomes) {}

  /// Sets up a newly declared tensor of this kind.
  static void prepare(const TensorState& tensor, PeerTensor& known);

  /// Starts the next round of the part's current operation.
  void start(const At& at);
  /// Starts the waiting operation, if there is one and the part is free.
  void start_next(const At& at);
  /// The worker at this place knows the tensor now.
  void on_ready(TensorState& tensor, PeerTensor& known, Place place);
  /// A frame of the worker at this place.
  void on_data(const At& at, Place from, const wire::Header& header, const Buffer& payload);
  /// Closes rounds that waited only for time.
  void tick();
  Time next_due() const;
  /// The workers that are awaited, in words.
  static std::string missing(const PeerTensor& known);

 private:
  struct Due {
    TensorState* tensor = nullptr;
    PeerTensor* known = nullptr;
    Time at = {};
  };

  void contribute(const At& at, std::uint64_t round, const QuorumPart::Share& share);
  void come(const At& at, Place from, std::uint64_t round, std::span<const std::byte> share,
            std::uint32_t contributions);
  void settle(const At& at);
  void close(const At& at);
  void take(const At& at);
  void send(const At& at, Place to, const wire::Header& header, const Buffer& payload,
            const Operation* of);
  void fail(const At& at, Place from, const Status& why);

  Van& van_;
  PeerLinks& peers_;
  const OperationEvents& outcomes_;
  std::map<wire::Key, Due> due_;  // By part rooted here: when the open round closes.
};

}  // namespace stretto
