// SPDX-License-Identifier: Apache-2.0
// A send queue of three links, and frames with marks.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "van/queue/send_queue.h"

namespace stretto {

inline constexpr std::uint64_t kFrame = wire::kHeaderBytes + 64;  // What frame() adds to a window.

/// `mark` identifies the frame.
inline Frame frame(std::int32_t priority, std::uint64_t mark, std::uint32_t tensor = 1,
                   std::size_t bytes = 64) {
  Frame frame;
  frame.header.kind = wire::Kind::kPush;
  frame.header.priority = priority;
  frame.header.version = mark;
  frame.header.key.tensor = tensor;
  frame.payload = Buffer::allocate(bytes);
  return frame;
}

inline Frame tagged(std::int32_t priority, std::uint64_t mark, std::uint64_t tag) {
  Frame made = frame(priority, mark);
  made.tag = tag;
  return made;
}

class SendQueueTest : public testing::Test {
 protected:
  SendQueueTest() {
    for (LinkId link : {1U, 2U, 3U}) queue_.add_link(link);
  }

  /// Takes the next frame; its mark, or 0 if no frame may be sent.
  std::uint64_t take() {
    const auto pick = queue_.next();
    if (!pick) return 0;
    const std::uint64_t mark = pick->frame->header.version;
    queue_.taken(*pick);
    return mark;
  }
  std::vector<std::uint64_t> take_all() {
    std::vector<std::uint64_t> marks;
    while (const std::uint64_t mark = take()) marks.push_back(mark);
    return marks;
  }

  SendQueue queue_{1 << 20, 4 << 20};
};

using Marks = std::vector<std::uint64_t>;

}  // namespace stretto
