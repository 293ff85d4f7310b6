// SPDX-License-Identifier: Apache-2.0
// RecoveryResponder: what this worker retains for servers that replace lost ones, the last value of
// each part, and its answers to their queries.
#pragma once

#include "van/control/control.h"
#include "van/engine/van.h"
#include "worker/operations/tensor_table.h"
#include "worker/server_path/push_retention.h"

namespace stretto {

/// Thread: loop.
class RecoveryResponder {
 public:
  /// Both outlive this.
  RecoveryResponder(Van& van, Tensors& tensors) : van_(van), tensors_(tensors), shares_(van) {}

  /// The pushes that are retained if servers have standbys.
  PushRetention& shares() { return shares_; }

  /// From now on values are retained.
  void begin() { keeps_ = true; }
  /// True if the last values of its parts are retained. Then its targets do not change until a
  /// value is complete, for they may be the sources, too.
  bool keeps(const TensorState& tensor) const {
    return keeps_ && is_sum_of_round(tensor.spec.options);
  }
  /// Retains a value of a part that has arrived.
  static void keep(PartState& part, const wire::ValueFacts& facts, const Buffer& payload);
  /// A server asks for this worker's progress on a part, or for its value.
  void answer(LinkId link, const control::Recall& recall);
  /// Retransmits this worker's empty contribution to the open round.
  void send_empty_share(const TensorState& tensor, std::uint32_t part);
  /// Tells a server that it need not wait for this worker's contributions.
  void tell_failed(const TensorState& tensor, LinkId link);
  /// Reports the progress to the part's owner.
  void tell_how_far(const TensorState& tensor, std::uint32_t part);

 private:
  Van& van_;
  Tensors& tensors_;
  PushRetention shares_;
  bool keeps_ = false;
};

}  // namespace stretto
