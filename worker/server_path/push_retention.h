// SPDX-License-Identifier: Apache-2.0
// PushRetention: if servers have standbys, a push can be retransmitted until its round has ended,
// or, without rounds, until it is acknowledged. Most pushes stay in the user's memory until then;
// of the others a copy is kept.
#pragma once

#include <utility>

#include "van/engine/van.h"
#include "worker/operations/tensor_table.h"

namespace stretto {

/// Thread: loop.
class PushRetention {
 public:
  /// `van` outlives this.
  explicit PushRetention(Van& van) : van_(van) {}

  /// From now on pushes are retained.
  void begin() { keeps_ = true; }
  bool keeps() const { return keeps_; }
  /// A push whose ticket may end before its round does: its source is the user's again then.
  bool outlives(const TensorState& tensor, const Operation& operation) const {
    return keeps_ && !operation.wants_value() &&
           (has_rounds(tensor.spec.options.mode) || operation.broadcasts());
  }
  /// True if a value that arrives in pieces would overwrite the source, which is still needed.
  bool is_in_place(const Operation& operation) const;
  /// Retains a push as it leaves, and returns it.
  Buffer keep(PartState& part, const wire::PushFrame& push, Buffer share) const {
    if (keeps_) part.sent = {.push = push, .bytes = share};
    return share;
  }
  /// True if the last push of the part can be retransmitted.
  bool has(const PartState& part) const { return keeps_ && part.sent.push.round == part.rounds(); }
  /// Retransmits a push, which may have counted before. False if it is not retained.
  bool send_again(const TensorState& tensor, std::uint32_t part, const SendTerms& terms) const;

 private:
  Van& van_;
  bool keeps_ = false;
};

}  // namespace stretto
