// SPDX-License-Identifier: Apache-2.0
// Reductions of two arrays: sum, minimum, maximum, product, and bitwise operations on integers. One
// kernel for each element type and processor level, chosen at run time. Every level gives the same
// bits, so results do not depend on the machine: IEEE 754 with rounding to nearest even, and
// correct subnormals, -0 and Inf. One exception: a NaN result is NaN at every level, but its sign
// and payload may differ, as IEEE 754 does not specify them. (Threads must have the default
// floating-point environment: round to nearest, and no flushing of subnormals to zero.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/reduce_op.h"
#include "stretto/types.h"

namespace stretto::ops {

/// Instruction sets with kernels, least first. kAvx2 needs F16C too; kAvx512 needs F, BW, VL and
/// DQ.
enum class Level : std::uint8_t { kPortable, kAvx2, kAvx512 };

/// "portable", "avx2", "avx512".
std::string_view name_of(Level level);
/// The best level that this processor and build can run. Thread: any.
Level best_level();

using stretto::name_of;
using stretto::ReduceOp;
/// Whether the reduction is defined for the type.
bool is_defined(ReduceOp op, Dtype dtype);

/// target[i] += source[i]. Equal sizes in bytes, a multiple of the element's; any alignment; source
/// is target or does not overlap it. f16 and bf16 are widened to f32, added, and rounded to nearest
/// even; integers wrap around. Thread: any.
void sum_into(Dtype dtype, std::span<std::byte> target, std::span<const std::byte> source);
/// The same with the kernels of one level, which must not be above best_level(): for tests.
void sum_into(Level level, Dtype dtype, std::span<std::byte> target,
              std::span<const std::byte> source);

/// out[i] = a[i] + b[i]. As sum_into; `out` overlaps neither.
void sum_to(Dtype dtype, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b);
void sum_to(Level level, Dtype dtype, std::span<std::byte> out, std::span<const std::byte> a,
            std::span<const std::byte> b);

/// target[i] = reduction of target[i] and source[i]: sum_into() for kSum and kAverage. Products of
/// f16 and bf16 are rounded like sums, and those of integers wrap around. The reduction must be
/// defined for the type. Thread: any.
void reduce_into(ReduceOp reduction, Dtype dtype, std::span<std::byte> target,
                 std::span<const std::byte> source);
void reduce_into(Level level, ReduceOp reduction, Dtype dtype, std::span<std::byte> target,
                 std::span<const std::byte> source);

/// The last step after `contributors` reductions: divides an average, as divide() does. (If the sum
/// may exceed the type's range: mean.h.) Thread: any.
void finish(ReduceOp op, Dtype dtype, std::span<std::byte> target, std::uint32_t contributors);

/// target[i] /= divisor, which is > 0. f16 and bf16 are widened to f32, divided, and rounded to
/// nearest even; a divisor that f32 cannot hold (above 2^24) is rounded to it first. Integers are
/// rounded towards minus infinity. Size and alignment as for sum_into. Thread: any.
void divide(Dtype dtype, std::span<std::byte> target, std::uint32_t divisor);

}  // namespace stretto::ops
