// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of control messages. Only the codec knows the encoding (Protobuf,
// van/control/control.proto). Decoded messages need only the checks that depend on the sender.
#pragma once

#include "common/memory/buffer.h"
#include "stretto/status.h"
#include "van/control/control.h"

namespace stretto::control {

/// Encodes a message as a control frame's payload.
Buffer encode(const Message& message);

/// Decodes and checks a message: sizes, roles, unique ranks within the world, settings, tensors.
/// Displayed numbers are truncated to their limits. The error names the received and the expected
/// value. kRefused: a hello whose sender should get the reason; else kMalformed.
Result<Message> decode(const Buffer& payload);

/// An error from a message. Unknown codes become kCancelled; the result is never ok.
Status status_from(std::uint64_t code, const std::string& cause, const std::string& peer);

}  // namespace stretto::control
