// SPDX-License-Identifier: Apache-2.0
// Means: sums of contributions in a type wide enough for them, and their division. A type holds the
// mean of its numbers, but may not hold their sum: 200 and 200 of u8, or 40000 twice of f16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/types.h"

namespace stretto::ops {

/// The type of sums of `dtype` contributions for their mean: f32 for f16 and bf16, i32 for i8 and
/// u8, i64 for i32. Other types are summed in their own type: sums of f32 and f64 beyond its range
/// are infinite, and sums of i64 wrap around.
constexpr Dtype dtype_of_sums(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF16:
    case Dtype::kBf16:
      return Dtype::kF32;
    case Dtype::kI8:
    case Dtype::kU8:
      return Dtype::kI32;
    case Dtype::kI32:
      return Dtype::kI64;
    default:
      return dtype;
  }
}

/// sums[i] = share[i], or with `add` sums[i] += share[i]. `share` is of `dtype`, any alignment;
/// `sums` are as many elements of dtype_of_sums(dtype), aligned for it. Thread: any, as all here.
void accumulate(Dtype dtype, std::span<std::byte> sums, std::span<const std::byte> share, bool add);

/// means[i] = sums[i] / divisor, which is > 0: f16 and bf16 rounded to nearest even, once; integers
/// rounded towards minus infinity. Sizes and alignment as above; `means` may lie where `sums` do if
/// the types are the same.
void divide_sums(Dtype dtype, std::span<const std::byte> sums, std::uint32_t divisor,
                 std::span<std::byte> means);

}  // namespace stretto::ops
