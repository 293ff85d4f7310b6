// SPDX-License-Identifier: Apache-2.0
// Conversion between messages and the Van's buffers, without copies.
#pragma once

#include <string_view>

#include "common/memory/buffer.h"
#include "stretto/rpc.h"

namespace stretto::rpc {

/// An answer of kUnsupported that begins so means: the callee has no method of that name.
inline constexpr std::string_view kNoMethod = "no method of this name is registered there";

Buffer to_buffer(const Message& message);
Message to_message(Buffer buffer);
/// The error for a message of that size for which the Van had no reassembly memory.
Status dropped_message(std::size_t bytes);

}  // namespace stretto::rpc
