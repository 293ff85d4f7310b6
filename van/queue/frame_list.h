// SPDX-License-Identifier: Apache-2.0
// FrameList: frames of one urgency in their order. A list, so that any of them can be taken out of
// the middle for what one costs; FrameIndex keeps the memory of those that have gone.
#pragma once

#include <cstdint>
#include <list>

#include "van/transport/transport.h"

namespace stretto {

/// What decides who goes first: priority, then the time at which the bytes are wanted.
struct Urgency {
  std::int32_t priority = 0;    ///< Higher goes first.
  Time deadline = Time::max();  ///< Among equal priorities earlier goes first; max: no matter.

  /// More urgent first.
  friend bool operator<(const Urgency& a, const Urgency& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.deadline < b.deadline;
  }
  friend bool operator==(const Urgency&, const Urgency&) = default;
};

struct Frame {
  /// For traces; of the epoch while nobody traces.
  struct Times {
    Time queued;
    Time began;  ///< When its first slice left,
    Time left;   ///< and when its last one so far did.
  };

  wire::Header header;
  Buffer payload;
  Time deadline = Time::max();
  std::uint64_t tag = 0;  ///< Whose it is, for those who change their mind; 0: nobody's.
  bool bulk = false;  ///< What is more urgent may wait some milliseconds for what has left of it.

  // The queue's and the Van's:
  std::uint32_t sent = 0;            // Bytes of the payload that have been submitted.
  std::uint64_t first_sequence = 0;  // Of its first slice, once that has left.
  std::uint64_t order = 0;           // When it was queued.
  LinkId link = 0;                   // For which it waits,
  bool paused = false;               // and whether it may not go.
  std::list<std::list<Frame>::iterator>::iterator of_tag;  // Its place among those of its tag.
  Times times;

  Urgency urgency() const { return {header.priority, deadline}; }
};

/// Frames in their order. One moves from lane to lane without being copied, and stays where it is
/// in memory.
using FrameList = std::list<Frame>;

}  // namespace stretto
