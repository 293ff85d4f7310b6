// SPDX-License-Identifier: Apache-2.0
// Checks that a saved part fits its tensor. Files are untrusted: a part is used only after
// comparison with the tensor's cut and the available bytes.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/entry.h"
#include "checkpoint/saved_part.h"
#include "core/tensor_spec.h"

namespace stretto::checkpoint {

/// The number of a tensor's parts. kMalformed if no job could have cut it so.
Result<std::uint32_t> count_parts(const TensorSpec& spec, std::uint32_t part_bytes);

/// Checks a part's index entry: its number, and room for its head. kMalformed, describing the part.
Status check_entry(const SavedEntry& entry, const TensorSpec& spec, std::uint32_t part_bytes);

/// The head in a part's first bytes, for an entry that passed check_entry(). kMalformed unless
/// value, owed bytes and the rule's memory have valid sizes, and fill the entry.
Result<SavedPartHead> head_of(std::span<const std::byte> first, const SavedEntry& entry,
                              const TensorSpec& spec, std::uint32_t part_bytes);

}  // namespace stretto::checkpoint
