// SPDX-License-Identifier: Apache-2.0
// FrameList: frames of one urgency in order. A list, so that any frame can be removed in constant
// time; FrameIndex recycles the memory.
#pragma once

#include <cstdint>
#include <list>

#include "van/transport/transport.h"

namespace stretto {

/// Sending order: priority, then deadline.
struct Urgency {
  std::int32_t priority = 0;    ///< Higher is sent first.
  Time deadline = Time::max();  ///< Earlier is sent first at equal priority; max: none.

  /// More urgent first.
  friend bool operator<(const Urgency& a, const Urgency& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.deadline < b.deadline;
  }
  friend bool operator==(const Urgency&, const Urgency&) = default;
};

struct Frame {
  /// For traces; the clock's epoch if tracing is off.
  struct Times {
    Time queued;
    Time began;  ///< Departure of its first slice,
    Time left;   ///< and of its latest slice.
  };

  wire::Header header;
  Buffer payload;
  Time deadline = Time::max();
  std::uint64_t tag = 0;  ///< Operation of the frame, for steering; 0: none.
  bool bulk = false;      ///< More urgent frames may wait some milliseconds for its sent slices.

  // Set by the queue and the Van:
  std::uint32_t sent = 0;                                  // Submitted bytes of the payload.
  std::uint64_t first_sequence = 0;                        // Of its first slice, once sent.
  std::uint64_t order = 0;                                 // Position in the order of queueing.
  LinkId link = 0;                                         // The link that it is queued for,
  bool paused = false;                                     // and whether it is paused.
  std::list<std::list<Frame>::iterator>::iterator of_tag;  // Its entry in its tag's list.
  Times times;

  Urgency urgency() const { return {header.priority, deadline}; }
};

/// Frames in order. A frame moves between lanes without a copy, at a stable address.
using FrameList = std::list<Frame>;

}  // namespace stretto
