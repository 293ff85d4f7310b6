// SPDX-License-Identifier: Apache-2.0
// The table of kernels for each processor level. Private to ops/: sum.h and convert.h are the
// interface. A level that this build lacks is a stub, so callers need no #ifdef.
#pragma once

#include <cstddef>

#include "ops/sum.h"

namespace stretto::ops {

/// The kernels of one level. Any alignment; `out` may be `a`, and otherwise overlaps no input.
struct Kernels {
  using Reduce = void (*)(std::byte* out, const std::byte* a, const std::byte* b,
                          std::size_t bytes);
  using Convert = void (*)(std::byte* out, const std::byte* in, std::size_t out_bytes);

  /// One reduction, for each element type; null if undefined.
  struct ByDtype {
    Reduce f32, f64, f16, bf16, i8, u8, i32, i64;
  };

  ByDtype sum;  ///< Integers wrap around, so signed and unsigned are the same sum.
  ByDtype min;
  ByDtype max;
  ByDtype product;
  ByDtype bit_and;  ///< Null for floating types.
  ByDtype bit_or;
  ByDtype bit_xor;
  Convert widen_f16;  ///< To f32, exactly.
  Convert widen_bf16;
  Convert narrow_f16;  ///< From f32, rounded to nearest even.
  Convert narrow_bf16;
};

/// The table of one level. Call avx2 and avx512 only where processor_level() allows it.
const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

/// The best level with kernels in this build that the processor and the operating system support.
/// Queries the processor each time; best_level() caches the result.
Level processor_level();

/// The table of `level`, which must not be above best_level().
const Kernels& kernels_of(Level level);

}  // namespace stretto::ops
