// SPDX-License-Identifier: Apache-2.0
// PushRetention: where servers stand by for others, a share can be sent again until its round has
// ended, or, where there are no rounds, until it is acknowledged. Most lie in the user's memory for
// so long; of the others a copy is kept.
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

  /// From now on shares are kept.
  void begin() { keeps_ = true; }
  bool keeps() const { return keeps_; }
  /// A share whose ticket may end before its round does: its source is the user's again then.
  bool outlives(const TensorState& tensor, const Operation& operation) const {
    return keeps_ && !operation.wants_value() &&
           (has_rounds(tensor.spec.options.mode) || operation.broadcasts());
  }
  /// A value that came in pieces would change the source, which is wanted whole until all is there.
  bool is_in_place(const Operation& operation) const;
  /// The share as it leaves: what is kept.
  Buffer keep(PartState& part, const wire::PushFrame& push, Buffer share) const {
    if (keeps_) part.sent = {.push = push, .bytes = share};
    return share;
  }
  /// Its last share can be sent again.
  bool has(const PartState& part) const { return keeps_ && part.sent.push.round == part.rounds(); }
  /// It has left, and may have counted where it went. False: it is not kept.
  bool send_again(const TensorState& tensor, std::uint32_t part, const SendTerms& terms) const;

 private:
  Van& van_;
  bool keeps_ = false;
};

}  // namespace stretto
