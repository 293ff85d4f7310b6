// SPDX-License-Identifier: Apache-2.0
// The index of a file of parts as bytes, and back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/entry.h"

namespace stretto::checkpoint {

/// No index is larger: what a file says is held against it.
inline constexpr std::uint64_t kMostIndexBytes = std::uint64_t{1} << 30;

std::string encode_index(const std::vector<SavedEntry>& entries);
/// Nothing if it is no index, or describes what cannot be: kinds that there are not, checksums for
/// more or fewer chunks than an entry has, contributions without a worker, an entry twice.
std::optional<std::vector<SavedEntry>> decode_index(std::span<const std::byte> bytes);

}  // namespace stretto::checkpoint
