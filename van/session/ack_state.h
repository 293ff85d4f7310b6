// SPDX-License-Identifier: Apache-2.0
// AckState: what was taken and applied of a peer's frames, and how much of that was acknowledged.
// Acks ride on the next frame; above a threshold, urgent or late they get a frame of their own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "van/wire/header.h"

namespace stretto {

/// Thread: loop. Pure.
class AckState {
 public:
  /// Data of the peer was taken; `bytes` includes headers.
  void take(std::uint64_t bytes, bool tell_at_once) {
    taken_bytes_ += bytes;
    credit_at_once_ |= tell_at_once;
  }
  /// The peer's pushes up to this one were applied.
  void apply(std::uint64_t push_sequence, bool tell_at_once) {
    applied_ = std::max(applied_, push_sequence);
    ack_at_once_ |= tell_at_once;
  }
  /// A control frame arrived; the peer keeps it until it is acknowledged.
  void hear() { heard_ = true; }
  /// As hear(), and to be acknowledged at once.
  void hear_farewell() { heard_ = farewell_ = true; }
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  std::uint64_t applied() const { return applied_; }

  /// A frame with these acks was submitted.
  void note_told(const wire::Header& header) {
    STRETTO_CHECK(told_bytes_ <= header.credit && header.credit <= taken_bytes_);
    told_bytes_ = header.credit;
    told_applied_ = std::max(told_applied_, header.acked);
    heard_ = false;
    if (header.kind == wire::Kind::kCredit) credit_queued_ = false;
  }
  /// Sent acks may be lost.
  void forget_told() { told_bytes_ = told_applied_ = 0; }
  bool acks() const { return told_applied_ != applied_; }
  bool credit_at_once() const { return credit_at_once_; }

  enum class Telling {
    kSettled,  ///< No ack is pending, or a frame for it is queued.
    kNow,      ///< Queue a frame for it.
    kLater,    ///< It may ride on a later frame.
  };
  /// `much_bytes`: threshold of credit; `late`: the delay has expired. After kNow the caller must
  /// queue a frame.
  Telling settle(std::uint64_t much_bytes, bool late);

 private:
  std::uint64_t taken_bytes_ = 0;
  std::uint64_t told_bytes_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t told_applied_ = 0;
  bool ack_at_once_ = false;
  bool credit_at_once_ = false;
  bool credit_queued_ = false;
  bool heard_ = false;
  bool farewell_ = false;  // It has arrived.
};

}  // namespace stretto
