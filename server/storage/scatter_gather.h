// SPDX-License-Identifier: Apache-2.0
// Spans: memory in several ranges, addressed by one offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto {

using Spans = std::vector<std::span<std::byte>>;
using ConstSpans = std::vector<std::span<const std::byte>>;

std::uint64_t size_of(const Spans& memory);
std::uint64_t size_of(const ConstSpans& memory);
/// Copies `piece.size()` bytes of `memory`, from `offset`, into `piece`. `memory` must contain the
/// whole range; copy_into() requires the same.
void copy_from(const ConstSpans& memory, std::uint64_t offset, std::span<std::byte> piece);
/// Copies the piece into memory from `offset` on.
void copy_into(const Spans& memory, std::uint64_t offset, std::span<const std::byte> piece);

}  // namespace stretto
