// SPDX-License-Identifier: Apache-2.0
// The block of bytes in which a program keeps what the servers' update rules remember of a tensor:
// a description, then each part's size, checksum and bytes, since a file may get damaged.
// Little-endian. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cut.h"

namespace stretto {

/// The first bytes of a block of this tensor's state, cut into parts of `part_bytes`.
std::vector<std::byte> begin_state_block(const TensorSpec& spec, std::uint32_t part_bytes);

/// Appends the next part.
void append_to_state_block(std::vector<std::byte>& block, std::span<const std::byte> part);

/// The bytes of each of `parts` parts. kMalformed for bytes that are no such block, incomplete, or
/// damaged; kMismatch for a block of another rule, type or size, or cut into other parts.
Result<std::vector<std::span<const std::byte>>> parts_of_state_block(
    std::span<const std::byte> block, const TensorSpec& spec, std::uint32_t part_bytes,
    std::size_t parts);

}  // namespace stretto
