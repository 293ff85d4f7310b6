// SPDX-License-Identifier: Apache-2.0
// Control messages to bytes and back. Nothing outside of the codec knows how they travel
// (Protobuf, van/control/control.proto), and nothing that was decoded has to be looked at again for
// what can be told without knowing who sent it.
#pragma once

#include "common/memory/buffer.h"
#include "stretto/status.h"
#include "van/control/control.h"

namespace stretto::control {

/// Bytes of a message, as a control frame's payload.
Buffer encode(const Message& message);

/// The message, checked: sizes, roles, ranks within the world and not twice, settings within sense,
/// tensors that can be. Numbers that only people read are held to their limits. What came, and what
/// was wanted, is in the error: kRefused for a hello that its sender should hear about, else
/// kMalformed.
Result<Message> decode(const Buffer& payload);

/// An error that came from outside. Codes that are not known become kCancelled, and nothing is ok.
Status status_from(std::uint64_t code, const std::string& cause, const std::string& peer);

}  // namespace stretto::control
