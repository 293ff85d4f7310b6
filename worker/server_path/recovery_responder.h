// SPDX-License-Identifier: Apache-2.0
// RecoveryResponder: what this worker keeps for servers that take the place of lost ones, the last
// value of each part, and what it answers them.
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

  /// What is kept where others stand by for servers.
  PushRetention& shares() { return shares_; }

  /// From now on values are kept.
  void begin() { keeps_ = true; }
  /// The last value of each of its parts is kept; and its targets stay as they are until all of a
  /// value is there, for they may be the sources too.
  bool keeps(const TensorState& tensor) const {
    return keeps_ && is_sum_of_round(tensor.spec.options);
  }
  /// The value of a part has come.
  static void keep(PartState& part, const wire::ValueFacts& facts, const Buffer& payload);
  /// A server asks how far we are with a part, or for its value.
  void answer(LinkId link, const control::Recall& recall);
  /// Our share of its open round, which brought nothing, goes again.
  void send_empty_share(const TensorState& tensor, std::uint32_t part);
  /// Others need not wait for our contributions to it.
  void tell_failed(const TensorState& tensor, LinkId link);
  /// Says so to the part's owner.
  void tell_how_far(const TensorState& tensor, std::uint32_t part);

 private:
  Van& van_;
  Tensors& tensors_;
  PushRetention shares_;
  bool keeps_ = false;
};

}  // namespace stretto
