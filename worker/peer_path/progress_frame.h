// SPDX-License-Identifier: Apache-2.0
// ProgressFrame: progress messages between members of a group: a question whether the receiver has
// begun a call, and the answer. A view of the header, as those of van/wire/frame_views.h.
#pragma once

#include <cstdint>

#include "core/group_call.h"
#include "van/wire/frame_views.h"

namespace stretto {

/// Thread: any.
struct ProgressFrame {
  bool asks = true;  ///< The receiver should report when it has begun the call; else the sender has
                     ///< begun it.
  std::uint32_t tensor = 0;  ///< Of the group.
  std::uint64_t number = 0;  ///< Of the call.
  std::int32_t priority = 0;

  static bool is_one(const wire::Header& header) {
    return wire::GroupFrame::is_one(header) && (header.flags & wire::kProbe) != 0;
  }
  static ProgressFrame of(const wire::Header& header) {
    const auto frame = wire::GroupFrame::of(header);
    return {.asks = frame.up,
            .tensor = frame.key.tensor,
            .number = frame.number,
            .priority = frame.priority};
  }
  wire::Header header() const {
    wire::Header made = wire::GroupFrame{.up = asks,
                                         .key = {tensor, 0},
                                         .number = number,
                                         .call = GroupCall{}.packed(),
                                         .absent = true,
                                         .dtype = GroupCall{}.dtype,
                                         .priority = priority}
                            .header();
    made.flags |= wire::kProbe;
    return made;
  }
};

}  // namespace stretto
