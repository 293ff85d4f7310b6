// SPDX-License-Identifier: Apache-2.0
// RetransmitBuffer: sent frames of a session that may not have arrived, for retransmission over a
// new link. It keeps leases, not copies, within the windows' limits.
#pragma once

#include <cstdint>
#include <deque>

#include "common/memory/buffer.h"
#include "van/wire/header.h"

namespace stretto {

/// Thread: loop. Pure.
class RetransmitBuffer {
 public:
  struct Kept {
    wire::Header header;
    Buffer payload;
  };
  /// A peer that acknowledges nothing beyond these limits loses the session's resumption.
  static constexpr std::size_t kMost = 1 << 16;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  bool too_many() const { return kept_.size() > kMost || bytes_ > kMostBytes; }

  /// A frame was sent, after all others. No new frame may be sent during a retransmission.
  void add(const wire::Header& header, const Buffer& payload);
  /// The peer has received all frames up to this one.
  void drop_through(std::uint64_t sequence);
  void clear();

  /// Starts a retransmission of all kept frames, oldest first.
  void rewind() { next_ = 0; }
  /// The next frame to retransmit; null: none.
  Kept* next() { return next_ < kept_.size() ? &kept_[next_] : nullptr; }
  /// That frame was retransmitted.
  void sent_again();

  std::size_t size() const { return kept_.size(); }
  /// Limit of valid credit from a peer that has received all frames up to this one: the bytes of
  /// their data frames, with headers.
  std::uint64_t creditable_through(std::uint64_t sequence) const;

 private:
  std::deque<Kept> kept_;
  std::uint64_t bytes_ = 0;
  std::uint64_t dropped_data_bytes_ = 0;  // With headers.
  std::size_t next_ = 0;                  // The next frame to retransmit.
};

}  // namespace stretto
