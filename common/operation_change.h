// SPDX-License-Identifier: Apache-2.0
// Change: how the holder of a handle changes their mind. Tickets and RPC calls take the same ones.
#pragma once

#include <cstdint>

#include "stretto/types.h"

namespace stretto::detail {

/// What a caller wants otherwise of something in flight.
struct Change {
  enum class Kind : std::uint8_t { kPriority, kDeadline, kPause, kResume, kCancel };
  Kind kind = Kind::kPause;
  std::int32_t priority = 0;
  Time deadline = Time::max();
};

}  // namespace stretto::detail
