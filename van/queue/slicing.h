// SPDX-License-Identifier: Apache-2.0
// Slicing: how the frames of a link are cut, so that between two slices something more urgent can
// go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "van/queue/frame_list.h"

namespace stretto {

/// A part of a frame's payload that leaves as one.
struct Slice {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool last = true;  ///< Nothing of the frame is left then.
};

/// Pure.
struct Slicing {
  std::uint64_t quantum_bytes = wire::kMaxPayloadBytes;
  std::uint64_t largest_bytes = wire::kMaxPayloadBytes;  ///< No slice is larger.

  /// With the quarter that may go with it, a slice is no larger than the largest.
  std::uint64_t quantum() const { return std::min(quantum_bytes, largest_bytes / 5 * 4); }
  /// What a window must have left for the frame's next slice. Room for half of one is room enough:
  /// so a window is used whatever it is a multiple of.
  std::uint64_t room_of(const Frame& frame) const {
    const std::uint64_t slice = std::min<std::uint64_t>(frame.payload.size(), quantum());
    return (wire::kHeaderBytes + slice) / 2;
  }
  /// True if the far end would have to hold one beginning more than it takes: it holds those of
  /// `begun` frames.
  bool must_begin(const Frame& frame, std::size_t begun) const {
    return begun == wire::kMaxBegun && frame.sent == 0 && frame.payload.size() > largest_bytes;
  }
  /// The next one. A rest that is little more than a quantum goes with it. Beginnings cost the far
  /// end memory.
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
