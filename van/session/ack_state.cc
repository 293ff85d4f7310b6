// SPDX-License-Identifier: Apache-2.0
// When pending acks need a frame of their own.
#include "van/session/ack_state.h"

namespace stretto {

AckState::Telling AckState::settle(std::uint64_t much_bytes, bool late) {
  const bool credit = told_bytes_ != taken_bytes_;
  Telling telling = Telling::kSettled;
  if ((credit || acks() || heard_) && !credit_queued_) {
    const bool much = taken_bytes_ - told_bytes_ >= much_bytes;
    const bool urgent =
        (ack_at_once_ && acks()) || (credit_at_once_ && credit) || (farewell_ && heard_);
    if (!much && !urgent && !late) return Telling::kLater;
    credit_queued_ = true;
    telling = Telling::kNow;
  }
  ack_at_once_ = false;
  credit_at_once_ = false;
  farewell_ = false;
  return telling;
}

}  // namespace stretto
