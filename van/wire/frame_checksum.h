// SPDX-License-Identifier: Apache-2.0
// The checksum of a frame: CRC32C over its header, with 0 in the checksum's place, and its payload.
// TCP's own sum is of 16 bits and ends at each device on the way, so frames between hosts carry
// one: what was corrupted ends the link, and is sent again over the next.
#pragma once

#include <cstddef>
#include <span>

#include "van/wire/header.h"

namespace stretto::wire {

/// Gives a frame that is ready to leave its checksum. Nothing of it may change from then on.
void add_checksum(Header& header, std::span<const std::byte> payload);

bool has_checksum(HeaderView bytes);

/// kLinkBroken if a frame is not as it left: its checksum is another one, or it has none, though
/// `wanted`.
Status verify_checksum(HeaderView bytes, std::span<const std::byte> payload, bool wanted);

}  // namespace stretto::wire
