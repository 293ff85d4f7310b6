// SPDX-License-Identifier: Apache-2.0
// Spans: memory that lies in several places, reached by one offset as if it lay in one.
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
/// Fills the piece with what lies from `offset` on. Both ends are within the memory, here and
/// below.
void copy_from(const ConstSpans& memory, std::uint64_t offset, std::span<std::byte> piece);
/// The other way round.
void copy_into(const Spans& memory, std::uint64_t offset, std::span<const std::byte> piece);

}  // namespace stretto
