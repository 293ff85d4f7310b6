// SPDX-License-Identifier: Apache-2.0
// The kernels for processors with AVX2 and F16C, compiled with those flags. Nothing here may run
// unless processor_level() permits it.
#include <immintrin.h>

#include "ops/vector_kernels.h"

namespace stretto::ops {

namespace {

struct Avx2 {
  static constexpr std::size_t kVectorBytes = 32;
  using Halves = __m128i;
  using Floats = __m256;
  static Floats widen(Halves halves) { return _mm256_cvtph_ps(halves); }
  static Halves narrow(Floats floats) { return _mm256_cvtps_ph(floats, _MM_FROUND_TO_NEAREST_INT); }
};

}  // namespace

const Kernels& avx2_kernels() {
  static constexpr Kernels kTable = VectorKernels<Avx2>::table();
  return kTable;
}

}  // namespace stretto::ops
