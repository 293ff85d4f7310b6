// SPDX-License-Identifier: Apache-2.0
// Encodes the index of a file of parts as bytes, and decodes it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/entry.h"

namespace stretto::checkpoint {

/// Upper limit of valid indexes, checked before memory is allocated.
inline constexpr std::uint64_t kMostIndexBytes = std::uint64_t{1} << 30;

std::string encode_index(const std::vector<SavedEntry>& entries);
/// None if the bytes are malformed or invalid: unknown kinds, checksums that do not match an
/// entry's chunks, contributions without a worker, duplicate entries.
std::optional<std::vector<SavedEntry>> decode_index(std::span<const std::byte> bytes);

}  // namespace stretto::checkpoint
