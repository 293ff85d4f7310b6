// SPDX-License-Identifier: Apache-2.0
// Slicing: how a link's frames are cut, so that a more urgent frame can be sent between two slices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "van/queue/frame_list.h"

namespace stretto {

/// A part of a frame's payload that is sent as a unit.
struct Slice {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool last = true;  ///< The last slice of the frame.
};

/// Pure.
struct Slicing {
  std::uint64_t quantum_bytes = wire::kMaxPayloadBytes;
  std::uint64_t largest_bytes = wire::kMaxPayloadBytes;  ///< Limit of a slice.

  /// A slice may exceed the quantum by a quarter, within the limit.
  std::uint64_t quantum() const { return std::min(quantum_bytes, largest_bytes / 5 * 4); }
  /// Room that a window needs for the frame's next slice. Half a slice is enough: so a window of
  /// any size is used up.
  std::uint64_t room_of(const Frame& frame) const {
    const std::uint64_t slice = std::min<std::uint64_t>(frame.payload.size(), quantum());
    return (wire::kHeaderBytes + slice) / 2;
  }
  /// True if the peer would have to hold one partial frame more than it accepts; it holds `begun`.
  bool must_begin(const Frame& frame, std::size_t begun) const {
    return begun == wire::kMaxBegun && frame.sent == 0 && frame.payload.size() > largest_bytes;
  }
  /// The next slice. A small rest beyond the quantum is included. Partial frames cost the peer
  /// memory.
  Slice slice_of(const Frame& frame, std::size_t begun) const {
    const std::uint64_t quantum = this->quantum();
    const std::uint64_t left =
        frame.payload.size() - std::min<std::uint64_t>(frame.sent, frame.payload.size());
    const bool last =
        left <= quantum + quantum / 4 || (frame.sent == 0 && begun == wire::kMaxBegun);
    return {frame.sent, static_cast<std::uint32_t>(last ? left : quantum), last};
  }
};

}  // namespace stretto
