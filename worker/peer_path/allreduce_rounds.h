// SPDX-License-Identifier: Apache-2.0
// AllReduceRounds: the rounds of parts that are exchanged among workers: sums go up, values come
// down. A part's Reduction decides its next action, and this class carries it out over links.
#pragma once

#include "van/engine/van.h"
#include "worker/operations/exchange_backend.h"
#include "worker/peer_state/peer_part.h"
#include "worker/peers/peer_links.h"

namespace stretto {

/// Thread: loop.
class AllReduceRounds {
 public:
  using At = PeerPartRef;
  using Place = collective::Place;

  /// All outlive this.
  AllReduceRounds(Van& van, PeerLinks& peers, const OperationEvents& outcomes)
      : van_(van), peers_(peers), outcomes_(outcomes) {}

  /// At the worker that chooses: called when all parts of a tensor wait for a plan.
  using Held = std::function<void(TensorState&, PeerTensor&)>;
  void set_held(Held held) { held_ = std::move(held); }

  /// The part's current operation takes part in its next round, at once or when its plan is known.
  void start(const At& at);
  /// The plan that parts wait for is known.
  void release(TensorState& tensor, PeerTensor& known);
  /// In an elastic job, after a group reconfiguration: the rounds of all parts continue after those
  /// that all members have finished.
  /// `holds`: no new rounds begin.
  void resume(TensorState& tensor, PeerTensor& known, const collective::Strategy& strategy,
              const control::Regroup::Finished& finished, bool holds);
  /// Starts the waiting operation, if there is one and the part is free.
  void start_next(const At& at);
  /// The parent knows the tensor now: sends a sum that waited for that.
  void send_up(const At& at);

  /// A frame of the worker at this place.
  void on_data(const At& at, Place from, const wire::Header& header, Buffer payload);

 private:
  void open(const At& at);
  void go_on(const At& at, const collective::Effects& effects, bool has_value);
  void take_kept(const At& at);
  void take_early(const At& at);
  void keep_early(const At& at, Place from, const wire::Header& header, const Buffer& payload);
  void on_up(const At& at, Place from, const wire::ReduceFrame& up, Buffer payload);
  void take_up(const At& at, Place from, const wire::ReduceFrame& up, Buffer payload);
  void on_down(const At& at, Place from, const wire::BroadcastFrame& down, const Buffer& payload);
  void carry_out(const At& at, const collective::Effects& effects);
  void send_down(const At& at);
  void post(const At& at, Place to, const wire::Header& header, Buffer payload);
  void finish(const At& at);
  void fail(const At& at, Place from, const Status& why);

  Van& van_;
  PeerLinks& peers_;
  const OperationEvents& outcomes_;
  Held held_;
};

}  // namespace stretto
