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
/// Fills the piece from `offset` on. Both ends must be within the memory, here and below.
void copy_from(const ConstSpans& memory, std::uint64_t offset, std::span<std::byte> piece);
/// Copies the piece into memory from `offset` on.
void copy_into(const Spans& memory, std::uint64_t offset, std::span<const std::byte> piece);

}  // namespace stretto
