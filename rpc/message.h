// SPDX-License-Identifier: Apache-2.0
// Messages to and from the leases that the Van carries. No bytes are copied.
#pragma once

#include <string_view>

#include "common/memory/buffer.h"
#include "stretto/rpc.h"

namespace stretto::rpc {

/// Where an answer of kUnsupported begins so, the callee has no method of that name.
inline constexpr std::string_view kNoMethod = "no method of this name is registered there";

Buffer to_buffer(const Message& message);
Message to_message(Buffer buffer);
/// Why there is nothing of a message of that size: the Van had no room to put it together.
Status dropped_message(std::size_t bytes);

}  // namespace stretto::rpc
