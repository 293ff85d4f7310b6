// SPDX-License-Identifier: Apache-2.0
// RetransmitBuffer: what has left in a session and may not have arrived, so that a new link can
// carry it again. It keeps leases, not copies: no more than the windows let be in flight.
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
  /// A far end that tells nothing of more than this is not waited for.
  static constexpr std::size_t kMost = 1 << 16;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  bool too_many() const { return kept_.size() > kMost || bytes_ > kMostBytes; }

  /// It has just left: after all others. While some are to be sent again nothing new leaves.
  void add(const wire::Header& header, const Buffer& payload);
  /// The far end has all up to this one.
  void drop_through(std::uint64_t sequence);
  void clear();

  /// All that are kept are to be sent again, oldest first.
  void rewind() { next_ = 0; }
  /// The one that is to be sent again now; null: none.
  Kept* next() { return next_ < kept_.size() ? &kept_[next_] : nullptr; }
  /// It has left once more.
  void sent_again();

  std::size_t size() const { return kept_.size(); }
  /// Credit that the far end can have given, once it has received all frames up to this one: the
  /// bytes of their data frames, with headers.
  std::uint64_t creditable_through(std::uint64_t sequence) const;

 private:
  std::deque<Kept> kept_;
  std::uint64_t bytes_ = 0;
  std::uint64_t dropped_data_bytes_ = 0;  // With headers.
  std::size_t next_ = 0;                  // To be sent again: this one and those behind it.
};

}  // namespace stretto
