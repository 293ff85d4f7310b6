// SPDX-License-Identifier: Apache-2.0
// Sums of arrays, the work of a server: one kernel for each element type and processor level, chosen
// at run time. Every level gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/types.h"

namespace stretto::ops {

/// Instruction sets that there are kernels for, least first.
enum class Level : std::uint8_t { kPortable, kAvx2, kAvx512 };

/// "portable", "avx2", "avx512".
std::string_view name_of(Level level);
/// The best level that this processor and build can run.
Level best_level();

/// target[i] += source[i]. Equal sizes in bytes, a multiple of the element's; any alignment; no
/// partial overlap. f16 and bf16 are widened to f32, added, and rounded to nearest even; integers
/// wrap around. Thread: any.
void sum_into(Dtype dtype, std::span<std::byte> target, std::span<const std::byte> source);
/// The same with the kernels of one level, which must not be above best_level(): for tests.
void sum_into(Level level, Dtype dtype, std::span<std::byte> target,
              std::span<const std::byte> source);

/// out[i] = a[i] + b[i]. As sum_into; `out` overlaps neither.
void sum_to(Dtype dtype, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b);
void sum_to(Level level, Dtype dtype, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b);

/// target[i] /= divisor; integers are rounded towards minus infinity. divisor > 0.
void divide(Dtype dtype, std::span<std::byte> target, std::uint32_t divisor);

}  // namespace stretto::ops
