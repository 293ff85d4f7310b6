// SPDX-License-Identifier: Apache-2.0
// AckState: what has been taken and applied of what a far end sent, and how much of that it knows.
// It rides on whatever goes there next; a frame of its own tells what is much, urgent or late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/check.h"
#include "van/wire/header.h"

namespace stretto {

/// Thread: loop. Pure.
class AckState {
 public:
  /// Data of the far end that has been taken, headers included.
  void take(std::uint64_t bytes, bool tell_at_once) {
    taken_bytes_ += bytes;
    credit_at_once_ |= tell_at_once;
  }
  /// Its pushes up to this one have been applied.
  void apply(std::uint64_t push_sequence, bool tell_at_once) {
    applied_ = std::max(applied_, push_sequence);
    ack_at_once_ |= tell_at_once;
  }
  /// A control frame of its has come, which it keeps until it hears of that.
  void hear() { heard_ = true; }
  /// The same, and it should hear of it at once.
  void hear_farewell() { heard_ = farewell_ = true; }
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  std::uint64_t applied() const { return applied_; }

  /// A frame that told it has been submitted.
  void note_told(const wire::Header& header) {
    STRETTO_CHECK(told_bytes_ <= header.credit && header.credit <= taken_bytes_);
    told_bytes_ = header.credit;
    told_applied_ = std::max(told_applied_, header.acked);
    heard_ = false;
    if (header.kind == wire::Kind::kCredit) credit_queued_ = false;
  }
  /// What has been told may not have been heard.
  void forget_told() { told_bytes_ = told_applied_ = 0; }
  bool acks() const { return told_applied_ != applied_; }
  bool credit_at_once() const { return credit_at_once_; }

  enum class Telling {
    kSettled,  ///< Nothing is owed, or a frame that tells it is queued.
    kNow,      ///< A frame should be queued for it.
    kLater,    ///< It may wait for a frame to ride on.
  };
  /// Credit of so many bytes is much; `late`: it has waited long enough. After kNow a frame is
  /// taken to be queued.
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
  bool farewell_ = false;  // Has been heard.
};

}  // namespace stretto
