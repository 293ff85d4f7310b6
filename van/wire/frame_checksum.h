// SPDX-License-Identifier: Apache-2.0
// The checksum of a frame: CRC32C over its header, with 0 as its checksum, and its payload. TCP's
// own sum has 16 bits and ends at each device on the path, so frames between hosts carry this one.
// A corrupted frame ends the link, and is retransmitted over the next one.
#pragma once

#include <cstddef>
#include <span>

#include "van/wire/header.h"

namespace stretto::wire {

/// Sets the checksum of a frame that is ready to leave. The frame must not change afterwards.
void add_checksum(Header& header, std::span<const std::byte> payload);

bool has_checksum(HeaderView bytes);

/// kLinkBroken if a frame was corrupted: its checksum differs, or is missing although `wanted`.
Status verify_checksum(HeaderView bytes, std::span<const std::byte> payload, bool wanted);

}  // namespace stretto::wire
