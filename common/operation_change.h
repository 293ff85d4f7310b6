// SPDX-License-Identifier: Apache-2.0
// Change: a caller's change of an operation in flight. Tickets and RPC calls share the kinds.
#pragma once

#include <cstdint>

#include "stretto/types.h"

namespace stretto::detail {

/// A change that a caller requests for an operation in flight.
struct Change {
  enum class Kind : std::uint8_t { kPriority, kDeadline, kPause, kResume, kCancel };
  Kind kind = Kind::kPause;
  std::int32_t priority = 0;
  Time deadline = Time::max();
};

}  // namespace stretto::detail
