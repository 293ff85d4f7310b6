// SPDX-License-Identifier: Apache-2.0
// Whether a saved part can be one of its tensor's. Files may say anything: nothing of a part is
// used before it is held against how the tensor is cut and how many bytes there are.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/entry.h"
#include "checkpoint/saved_part.h"
#include "core/tensor_spec.h"

namespace stretto::checkpoint {

/// How many parts a tensor has. kMalformed if no job could have cut it so.
Result<std::uint32_t> count_parts(const TensorSpec& spec, std::uint32_t part_bytes);

/// What an index says of a part: its number, and that there are bytes enough for its head.
/// kMalformed, with the part in words.
Status check_entry(const SavedEntry& entry, const TensorSpec& spec, std::uint32_t part_bytes);

/// The head that a part's first bytes hold, for an entry of which check_entry() is ok: kMalformed
/// unless value, what is owed and the rule's memory are as long as they must be, and all of the
/// entry.
Result<SavedPartHead> head_of(std::span<const std::byte> first, const SavedEntry& entry,
                              const TensorSpec& spec, std::uint32_t part_bytes);

}  // namespace stretto::checkpoint
